#!/bin/sh
# Installs gl, gl-remote and greenlight, gl's other name, into ~/.local/bin: a release's archive for this machine, after a
# check against that release's SHA256SUMS. It changes nothing else, and needs neither root nor Go.
#
#   sh install.sh [--version 1.2.3] [--dir DIR] [--man DIR]
#
# GREENLIGHT_ADDRESS is where the releases are: the repository's address, such as https://HOST/OWNER/greenlight.
set -eu

address=${GREENLIGHT_ADDRESS:-}
version=
dir=${GREENLIGHT_BIN:-$HOME/.local/bin}
man=

fail() {
	printf 'install.sh: %s\n' "$1" >&2
	exit 1
}

usage() {
	printf 'usage: install.sh [--version 1.2.3] [--dir DIR] [--man DIR]\n' >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--version | --dir | --man)
		[ $# -ge 2 ] || usage
		case $1 in
		--version) version=${2#v} ;;
		--dir) dir=$2 ;;
		--man) man=$2 ;;
		esac
		shift 2
		;;
	*) usage ;;
	esac
done
case $version in *[!A-Za-z0-9.-]*) fail "$version isn't a version" ;; esac
[ -n "$address" ] || fail "where the releases are isn't known: set GREENLIGHT_ADDRESS to the repository's address"
address=${address%/}

# download URL FILE. Only a test's server on this machine may do without TLS.
download() {
	case $1 in
	https://* | http://127.0.0.1:* | http://localhost:*) ;;
	*) fail "$1 isn't https" ;;
	esac
	if command -v curl >/dev/null 2>&1; then
		curl -fsSL --retry 3 -o "$2" "$1"
	elif command -v wget >/dev/null 2>&1; then
		wget -q -O "$2" "$1"
	else
		fail "neither curl nor wget is installed: install one of them, or download $1 yourself"
	fi || fail "$1 can't be downloaded: see $address/releases for the versions there are"
}

if command -v sha256sum >/dev/null 2>&1; then
	sum=sha256sum
elif command -v shasum >/dev/null 2>&1; then
	sum='shasum -a 256'
else
	fail "neither sha256sum nor shasum is installed, so the download can't be checked: install one of them"
fi

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "gl runs on Linux and macOS, not on $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m): build it with Go (make build)" ;;
esac

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

from=$address/releases/latest/download
[ -z "$version" ] || from=$address/releases/download/v$version
download "$from/SHA256SUMS" "$tmp/SHA256SUMS"
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(greenlight_[A-Za-z0-9.-]*_${os}_$arch\.tar\.gz\)\$/\1/p" "$tmp/SHA256SUMS")
case $archive in
'' | *'
'*) fail "$from/SHA256SUMS doesn't name one archive for $os/$arch" ;;
esac
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$tmp/SHA256SUMS")
download "$from/$archive" "$tmp/$archive"
have=$($sum "$tmp/$archive" | cut -d ' ' -f 1)
[ "$have" = "$want" ] || fail "$archive isn't what SHA256SUMS says, so nothing was installed
  expected $want
  got      $have
Download it again; if that doesn't help, report it at $address/issues"

mkdir "$tmp/files"
tar -xzf "$tmp/$archive" -C "$tmp/files"
"$tmp/files/gl" version >/dev/null || fail "the gl of $archive doesn't run on this machine"

# Each program is renamed into place: one that runs goes on with its old file.
mkdir -p "$dir" || fail "$dir can't be made: choose another with --dir"
for program in gl gl-remote; do
	cp "$tmp/files/$program" "$dir/.$program.new" && chmod 755 "$dir/.$program.new" &&
		mv -f "$dir/.$program.new" "$dir/$program" || fail "$dir can't be written to: choose another with --dir"
done
if [ -e "$dir/greenlight" ] && [ ! -L "$dir/greenlight" ]; then
	printf 'note: %s exists and was left as it is\n' "$dir/greenlight"
else
	ln -sf gl "$dir/greenlight"
fi
if [ -n "$man" ]; then
	mkdir -p "$man/man1"
	cp "$tmp/files/man/"*.1 "$man/man1/"
fi
printf 'Installed %s in %s, also as greenlight\n' "$("$dir/gl" version)" "$dir"
case :$PATH: in
*:"$dir":*) ;;
*) printf 'It is not on your PATH yet: add this line to your shell'"'"'s startup file\n  export PATH="%s:$PATH"\n' "$dir" ;;
esac
