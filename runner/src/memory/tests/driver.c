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
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201 };
enum { DEVICES = 2, ALLOCATIONS = 64, SYNC_MEMOPS = 6, LEAKED = 99 };
static const size_t DEVICE_BYTES = 64 << 20;

struct allocation { char *visible, *accessible; size_t bytes; int is_synchronous; };
static struct allocation allocations[ALLOCATIONS];
static int contexts[DEVICES], is_initialized;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread void *current;

static struct allocation *find(uint64_t address, size_t bytes) {
    for (int i = 0; i < ALLOCATIONS; i++) {
        uint64_t start = (uint64_t)allocations[i].visible;
        if (start && address >= start && address + bytes <= start + allocations[i].bytes) return &allocations[i];
    }
    return NULL;
}

int cuInit(unsigned flags) { is_initialized = 1; return flags ? INVALID_VALUE : SUCCESS; }
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
        char *accessible = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (visible == MAP_FAILED || accessible == MAP_FAILED) break;
        allocations[i] = (struct allocation){visible, accessible, bytes, 0};
        *address = (uint64_t)visible;
        result = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
int cuMemFree_v2(uint64_t address) {
    if (!current) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    struct allocation *found = find(address, 1);
    int result = found && (uint64_t)found->visible == address ? SUCCESS : INVALID_VALUE;
    if (!result) {
        munmap(found->visible, found->bytes);
        munmap(found->accessible, found->bytes);
        *found = (struct allocation){0};
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
