package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"tipstaff/internal/cli/flags"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/inspect/clients"
	"tipstaff/internal/plainfile"
	"tipstaff/internal/proc"
)

// startTime bounds how long a server may take to answer; one in a container or
// a virtual machine takes longer than one here.
const startTime = 30 * time.Second

// startAsClient starts the server by an entry as a client does, asks for its
// tools, and ends it. It is the one program beside commands, and git for
// passwords, that tipstaff starts: itself, by the path that it has just written.
// The engine has no state directory, so it ends nothing of other servers.
//
// The variables of over count more than the entry's, and a server of a report starts in
// dir; "": where clients start it.
func startAsClient(ctx context.Context, e clients.Entry, dir string, over ...string) (tools []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	engine, err := proc.NewEngine(proc.Options{})
	if err != nil {
		return nil, fmt.Errorf("cannot start programs on this machine: %w", err)
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	s, err := start(engine, e, dir, over)
	if err != nil {
		return nil, err
	}
	defer s.end(ctx)
	client, err := mcpserver.ConnectTo(ctx, s.out, s.in, "tipstaff-install")
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	tools, err = client.Tools(ctx)
	_ = client.Close()
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return tools, nil
}

// startedServer is a server that runs, with our ends of its streams.
type startedServer struct {
	p       *proc.Process
	in, out *os.File
	log     *firstLines
	logged  sync.WaitGroup
	stderr  *os.File
}

func start(engine *proc.Engine, e clients.Entry, in string, over []string) (*startedServer, error) {
	env := flags.LastWins(append(clientEnvironment(e), over...))
	if in == "" {
		in = startDirectory(env)
	}
	dir, err := plainfile.OpenDir(in)
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory to start in: %w", err)
	}
	defer dir.Close()
	s := &startedServer{log: &firstLines{}}
	var theirs []*os.File
	pipe := func(read bool) (ours, his *os.File) {
		if err != nil {
			return nil, nil
		}
		if ours, his, err = proc.Pipe(read); err == nil {
			theirs = append(theirs, his)
		}
		return ours, his
	}
	input, stdin := pipe(false)
	out, stdout := pipe(true)
	stderr, stderrHis := pipe(true)
	s.in, s.out, s.stderr = input, out, stderr
	if err == nil {
		s.p, err = engine.Start(proc.Launch{
			Path: e.Command, Argv: append([]string{e.Command}, e.Args...), Env: env,
			Dir: dir.Fd(), DirPath: dir.Name(), Stdin: stdin, Stdout: stdout, Stderr: stderrHis,
		})
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("%s cannot be started: %w", e.Command, err)
	}
	s.logged.Go(func() { _, _ = io.Copy(s.log, stderr) })
	return s, nil
}

func (s *startedServer) close() {
	for _, f := range []*os.File{s.in, s.out, s.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// end ends the server, as a client does: it closes the server's input and gives
// it a moment.
func (s *startedServer) end(ctx context.Context) {
	_ = s.in.Close()
	s.p.Await(context.WithoutCancel(ctx), 5*time.Second)
	s.p.End(time.Second)
	s.logged.Wait()
	s.close()
}

// explain adds what the server has said before it failed.
func (s *startedServer) explain(ctx context.Context, err error) error {
	_ = s.in.Close()
	s.p.Await(context.WithoutCancel(ctx), time.Second)
	s.p.End(time.Second)
	s.logged.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it has not answered within %v", startTime)
	}
	if said := s.log.String(); said != "" {
		return fmt.Errorf("%w; it says:\n  %s", err, strings.ReplaceAll(cmdline.EscapeLines(strings.TrimSpace(said)), "\n", "\n  "))
	}
	return err
}

// firstLines keeps the beginning of what a server logs.
type firstLines struct {
	mu   sync.Mutex
	text []byte
}

func (f *firstLines) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = append(f.text, p[:min(len(p), 4096-len(f.text))]...)
	return len(p), nil
}

func (f *firstLines) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.text)
}

// clientEnvironment is the environment that a server gets from a client with a
// window: hardly more than the system's own PATH and the home directory, and
// what the entry says.
func clientEnvironment(e clients.Entry) (env []string) {
	for _, name := range []string{"HOME", "USER", "LOGNAME", "TMPDIR", "SystemRoot", "USERPROFILE", "APPDATA", "LOCALAPPDATA"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	given := map[string]bool{}
	for _, v := range e.Env {
		env = append(env, v.Name+"="+v.Value)
		given[v.Name] = true
	}
	if !given["PATH"] {
		env = append(env, "PATH="+minimalPath())
	}
	return flags.LastWins(env)
}

// minimalPath is the PATH of programs that are not started from a shell.
func minimalPath() string {
	if runtime.GOOS == "windows" {
		root := os.Getenv("SystemRoot")
		return filepath.Join(root, "System32") + ";" + root
	}
	return "/usr/bin:/bin:/usr/sbin:/sbin"
}

// startDirectory is where clients with windows start servers: in the home
// directory, or at the root.
func startDirectory(env []string) string {
	for _, kv := range env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && filepath.IsAbs(home) {
			if info, err := os.Stat(home); err == nil && info.IsDir() {
				return home
			}
		}
	}
	return string(filepath.Separator)
}
