/* Preloaded into a server under test: notes how much of each file was synced, so that a test can cut off the rest.
 *
 * A killed process loses nothing that it has written: the system writes it out later. A machine that loses power keeps
 * only what was synced. Every fsync and fdatasync that succeeds adds a line "bytes path" to the file that SYNCED_FILE
 * names; bytes is the size before the call, as what is appended meanwhile may not be covered by it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(int fd, long long bytes)
{
    static int notes = -2;
    char link[64], path[PATH_MAX], line[PATH_MAX + 32];

    if (notes == -2) {
        const char *name = getenv("SYNCED_FILE");
        notes = name == NULL ? -1 : open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
    if (notes < 0)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = 0;
    int size = snprintf(line, sizeof line, "%lld %s\n", bytes, path);
    if (write(notes, line, size) != size)
        abort();
}

static int synced(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    struct stat before;
    int known = fstat(fd, &before) == 0;
    int result = real(fd);

    if (result == 0 && known && S_ISREG(before.st_mode))
        note(fd, (long long)before.st_size);
    return result;
}

int fsync(int fd)
{
    return synced("fsync", fd);
}

int fdatasync(int fd)
{
    return synced("fdatasync", fd);
}
