// A simulated CUDA driver for GPU memory tests on machines without a GPU. It has two devices. Their memory is reserved
// at the addresses that the caller gets, but only the driver can access it, through a second mapping: code that reads
// or writes it without the driver crashes, as it would with a GPU. Calls without a current context fail, as in the real
// driver. If memory is still allocated or contexts are still retained on exit, the process exits with a distinct
// status.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201 };
enum { DEVICES = 2, ALLOCATIONS = 64, SYNC_MEMOPS = 6, LEAKED = 99 };
static const size_t DEVICE_BYTES = 64 << 20;

struct allocation { char *visible, *accessible; size_t bytes; int is_synchronous, file, opened; };
// What another process needs to map an allocation, in place of the driver's own handle.
struct handle { pid_t process; int file, device; size_t bytes; };
static struct allocation allocations[ALLOCATIONS];
static int contexts[DEVICES], is_initialized;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread void *current;

// Bytes that all processes use on each device: a shared file, if the environment names one, or this process's own bytes.
static size_t own_usage[DEVICES], *usage = own_usage;
static void open_usage(void) {
    char *path = getenv("TEST_DRIVER_USAGE");
    int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, sizeof own_usage)) return;
    void *shared = mmap(NULL, sizeof own_usage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) usage = shared;
}

static int device_of_current(void) { return (int *)current - contexts; }

static struct allocation *find(uint64_t address, size_t bytes) {
    for (int i = 0; i < ALLOCATIONS; i++) {
        uint64_t start = (uint64_t)allocations[i].visible;
        if (start && address >= start && address + bytes <= start + allocations[i].bytes) return &allocations[i];
    }
    return NULL;
}

// Fails with the error in the environment, if there is one.
int cuInit(unsigned flags) {
    char *error = getenv("TEST_DRIVER_INIT");
    if (error) return atoi(error);
    if (!is_initialized) open_usage();
    is_initialized = 1;
    return flags ? INVALID_VALUE : SUCCESS;
}
int cuDeviceGetCount(int *count) { *count = DEVICES; return is_initialized ? SUCCESS : NOT_INITIALIZED; }
int cuDeviceGet(int *device, int ordinal) {
    if (!is_initialized) return NOT_INITIALIZED;
    if (ordinal < 0 || ordinal >= DEVICES) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    pthread_mutex_lock(&lock);
    contexts[device]++;
    pthread_mutex_unlock(&lock);
    *context = &contexts[device];
    return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    pthread_mutex_lock(&lock);
    contexts[device]--;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
int cuCtxSetCurrent(void *context) { current = context; return SUCCESS; }
int cuCtxSynchronize(void) { return current ? SUCCESS : INVALID_CONTEXT; }
int cuDeviceGetPCIBusId(char *name, int length, int device) {
    return snprintf(name, length, "0000:%02X:00.0", 0xA0 + device) < length ? SUCCESS : INVALID_VALUE;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    if (!current) return INVALID_CONTEXT;
    if (bytes > DEVICE_BYTES) return OUT_OF_MEMORY;
    int result = OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS && result; i++) {
        if (allocations[i].visible) continue;
        char *visible = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int file = memfd_create("device", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, bytes)) break;
        char *accessible = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (visible == MAP_FAILED || accessible == MAP_FAILED) break;
        allocations[i] = (struct allocation){visible, accessible, bytes, 0, file, 0};
        __atomic_fetch_add(&usage[device_of_current()], bytes, __ATOMIC_SEQ_CST);
        *address = (uint64_t)visible;
        result = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
static int end(uint64_t address, int opened) {
    if (!current) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    struct allocation *found = find(address, 1);
    int result = found && (uint64_t)found->visible == address && found->opened == opened ? SUCCESS : INVALID_VALUE;
    if (!result) {
        munmap(found->visible, found->bytes);
        munmap(found->accessible, found->bytes);
        close(found->file);
        if (!opened) __atomic_fetch_sub(&usage[device_of_current()], found->bytes, __ATOMIC_SEQ_CST);
        *found = (struct allocation){0};
    }
    pthread_mutex_unlock(&lock);
    return result;
}
int cuMemFree_v2(uint64_t address) { return end(address, 0); }
int cuIpcCloseMemHandle(uint64_t address) { return end(address, 1); }
int cuMemGetInfo_v2(size_t *available, size_t *total) {
    if (!current) return INVALID_CONTEXT;
    *total = 64 * DEVICE_BYTES;
    *available = *total - __atomic_load_n(&usage[device_of_current()], __ATOMIC_SEQ_CST);
    return SUCCESS;
}
int cuIpcGetMemHandle(char handle[64], uint64_t address) {
    struct allocation *found = current ? find(address, 1) : NULL;
    if (!found || (uint64_t)found->visible != address || found->opened) return INVALID_VALUE;
    memset(handle, 0, 64);
    memcpy(handle, &(struct handle){getpid(), found->file, device_of_current(), found->bytes}, sizeof(struct handle));
    return SUCCESS;
}
// As with the real driver, a process cannot open a handle of its own, and the mapping is on the same device.
struct ipc_handle { char reserved[64]; };
int cuIpcOpenMemHandle_v2(uint64_t *address, struct ipc_handle given, unsigned flags) {
    struct handle handle;
    memcpy(&handle, given.reserved, sizeof handle);
    if (!current || handle.process == getpid() || handle.device != device_of_current()) return INVALID_CONTEXT;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process, handle.file);
    int file = flags == 1 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return INVALID_VALUE;
    int result = OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS && result; i++) {
        if (allocations[i].visible) continue;
        char *visible = mmap(NULL, handle.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *accessible = mmap(NULL, handle.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (visible == MAP_FAILED || accessible == MAP_FAILED) break;
        allocations[i] = (struct allocation){visible, accessible, handle.bytes, 1, file, 1};
        *address = (uint64_t)visible;
        result = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
// Memory that a NIC accesses must be made synchronous before it is used.
static char *accessible(uint64_t address, size_t bytes) {
    struct allocation *found = current ? find(address, bytes) : NULL;
    return found && found->is_synchronous ? found->accessible + (address - (uint64_t)found->visible) : NULL;
}
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
    char *target = accessible(address, bytes);
    if (!target) return INVALID_VALUE;
    memset(target, value, bytes);
    return SUCCESS;
}
int cuMemcpyHtoD_v2(uint64_t address, const void *source, size_t bytes) {
    char *target = accessible(address, bytes);
    if (!target) return INVALID_VALUE;
    memcpy(target, source, bytes);
    return SUCCESS;
}
int cuMemcpyDtoH_v2(void *target, uint64_t address, size_t bytes) {
    char *source = accessible(address, bytes);
    if (!source) return INVALID_VALUE;
    memcpy(target, source, bytes);
    return SUCCESS;
}
int cuPointerSetAttribute(const void *value, int attribute, uint64_t address) {
    struct allocation *found = find(address, 1);
    if (!found || attribute != SYNC_MEMOPS) return INVALID_VALUE;
    found->is_synchronous = *(const unsigned *)value;
    return SUCCESS;
}
int cuGetErrorName(int error, const char **name) {
    *name = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == INVALID_DEVICE ? "CUDA_ERROR_INVALID_DEVICE" : "CUDA_ERROR_INVALID_VALUE";
    return SUCCESS;
}
int cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }

__attribute__((destructor)) static void check_leaks(void) {
    int leaked = 0;
    for (int i = 0; i < ALLOCATIONS; i++) leaked += allocations[i].visible != NULL;
    for (int i = 0; i < DEVICES; i++) leaked += contexts[i];
    if (leaked) _exit(LEAKED);
}
