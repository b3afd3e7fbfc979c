-- The one wrk script: replays the request bodies of a file, in order, round and round.
--
--   wrk ... -s load.lua URL -- TARGET FILE SEED
--
-- FILE has one request body on each line. "@@" in a body becomes a text that no other request has (the seed and a
-- counter), for writes whose condition says that the item is new. Bodies without it are formatted once, before the
-- clock starts, so that wrk's own work stays small beside the server's.

local MARK = "@@"
local seed, count, ready, pieces = "", 0, {}, {}

local function split(body)
  local parts, from = {}, 1
  while true do
    local at = string.find(body, MARK, from, true)
    if not at then break end
    parts[#parts + 1] = string.sub(body, from, at - 1)
    from = at + #MARK
  end
  parts[#parts + 1] = string.sub(body, from)
  return parts
end

function init(args)
  local day, now = os.date("!%Y%m%d"), os.date("!%Y%m%dT%H%M%SZ")
  wrk.method, wrk.path = "POST", "/"
  wrk.headers["content-type"] = "application/x-amz-json-1.0"
  wrk.headers["x-amz-target"] = args[1]
  wrk.headers["x-amz-date"] = now
  wrk.headers["authorization"] = "AWS4-HMAC-SHA256 Credential=BENCHMARK/" .. day
    .. "/us-east-1/dynamodb/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature="
    .. string.rep("0123456789abcdef", 4)
  seed = args[3]
  for body in io.lines(args[2]) do
    local parts = split(body)
    if #parts == 1 then
      ready[#ready + 1] = wrk.format(nil, nil, nil, body)
    else
      pieces[#pieces + 1] = parts
    end
  end
end

function request()
  count = count + 1
  if #ready > 0 then
    return ready[count % #ready + 1]
  end
  local parts = pieces[count % #pieces + 1]
  return wrk.format(nil, nil, nil, table.concat(parts, seed .. "-" .. count))
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests": %d, "microseconds": %d, "bytes": %d, "p50_us": %d, "p99_us": %d, "max_us": %d,'
      .. ' "refused": %d, "broken": %d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99), latency.max,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
