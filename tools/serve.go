//go:build ignore

// Serve serves a directory on a free port of this machine and prints its address: a stand-in for
// the place of releases, for .ci/release.
//
//	go run tools/serve.go DIR
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run tools/serve.go DIR")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	log.Fatal(http.Serve(l, http.FileServer(http.Dir(os.Args[1]))))
}
