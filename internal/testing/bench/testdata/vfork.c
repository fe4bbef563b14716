/* The floor of starting a program: vfork and exec of it, and waiting for it.
   Prints how many nanoseconds each of N starts took. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *const args[] = {"true", NULL}, *const env[] = {NULL};
	int n = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < n; i++) {
		struct timespec a, b;
		int status;
		clock_gettime(CLOCK_MONOTONIC, &a);
		pid_t pid = vfork();
		if (pid == 0) {
			execve("/bin/true", args, env);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%lld\n", (b.tv_sec - a.tv_sec) * 1000000000LL + (b.tv_nsec - a.tv_nsec));
	}
	return 0;
}
