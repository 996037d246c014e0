// Probe runs in the pods that the testbed tests use: it serves on ports and queries other pods.
//
//	probe serve PORT...            responds on TCP and UDP with the host name, until SIGTERM
//	probe serve-one PORT           responds to one TCP connection, then exits
//	probe query tcp|udp HOST:PORT  prints the response; fails if no response arrives within two seconds
//	probe await tcp|udp HOST:PORT  repeats the query for up to three minutes
//	probe show FILE VARIABLE       prints the file's content and the environment variable's value
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	queryTimeout  = 2 * time.Second
	awaitTimeout  = 3 * time.Minute
	retryInterval = 100 * time.Millisecond
)

var errUsage = errors.New("usage: probe serve PORT... | serve-one PORT | query tcp|udp HOST:PORT | await tcp|udp HOST:PORT | show FILE VARIABLE")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) >= 2 && args[0] == "serve":
		return serve(ctx, args[1:])
	case len(args) == 2 && args[0] == "serve-one":
		return serveOne(ctx, args[1])
	case len(args) == 3 && args[0] == "query":
		return query(args[1], args[2])
	case len(args) == 3 && args[0] == "await":
		return await(ctx, args[1], args[2])
	case len(args) == 3 && args[0] == "show":
		return show(args[1], args[2])
	default:
		return errUsage
	}
}

func serve(ctx context.Context, ports []string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	failed := make(chan error)
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return err
		}
		packets, err := net.ListenPacket("udp", ":"+port)
		if err != nil {
			return err
		}
		go func() { failed <- serveConnections(listener, name) }()
		go func() { failed <- servePackets(packets, name) }()
	}
	fmt.Println("serving", ports)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func serveConnections(listener net.Listener, name string) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintln(connection, name)
		connection.Close()
	}
}

func servePackets(packets net.PacketConn, name string) error {
	buffer := make([]byte, 64)
	for {
		_, peer, err := packets.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if _, err := packets.WriteTo([]byte(name+"\n"), peer); err != nil {
			fmt.Fprintln(os.Stderr, "probe:", err)
		}
	}
}

func serveOne(ctx context.Context, port string) error {
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	connection, err := listener.Accept()
	if err != nil {
		return err
	}
	defer connection.Close()
	fmt.Println("connection from", connection.RemoteAddr())
	_, err = fmt.Fprintln(connection, "welcome")
	return err
}

func show(file, variable string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fmt.Println(strings.TrimSpace(string(content)), os.Getenv(variable))
	return nil
}

func query(network, address string) error {
	connection, err := net.DialTimeout(network, address, queryTimeout)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(queryTimeout)); err != nil {
		return err
	}
	if network == "udp" {
		if _, err := connection.Write([]byte("?")); err != nil {
			return err
		}
		answer := make([]byte, 256)
		length, err := connection.Read(answer)
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(answer[:length])
		return err
	}
	answer, err := io.ReadAll(connection)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(answer)
	return err
}

func await(ctx context.Context, network, address string) error {
	limited, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	for {
		err := query(network, address)
		if err == nil {
			return nil
		}
		select {
		case <-limited.Done():
			return err
		case <-time.After(retryInterval):
		}
	}
}
