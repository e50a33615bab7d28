#!/bin/sh
# Installs Tidings from a release, or upgrades it: the executable for this platform, checked against SHA256SUMS, and on
# Linux with systemd the service. docs/install.md describes it.
#
#   curl -fsSL ADDRESS/latest/download/install.sh | sudo sh
#   … | sudo sh -s -- --version 1.2.3   installs this version, not the newest
#   … | sudo sh -s -- --no-start        installs the service without starting it, to write its settings first
#   … | sudo sh -s -- --no-service      installs only the executable
#   … | sudo sh -s -- --uninstall       removes what it installed; data and settings stay
#   … | sudo sh -s -- --from ADDRESS    takes the releases from elsewhere
set -eu

# A release has its own address here.
from="@RELEASES@"
version=""
start=yes
service=yes
uninstall=no

bin=/usr/local/bin
unit=/etc/systemd/system/tidings.service
settings=/etc/tidings/tidings.env
data=/var/lib/tidings

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --from)
        [ $# -ge 2 ] || fail "$1 needs a value."
        if [ "$1" = --version ]; then version=${2#v}; else from=${2%/}; fi
        shift
        ;;
      --no-start) start=no ;;
      --no-service) service=no ;;
      --uninstall) uninstall=yes ;;
      *) fail "$1 is no option. There are --version, --from, --no-start, --no-service and --uninstall." ;;
    esac
    shift
  done
}

# The name of the executable for this machine, as scripts/artifacts.mjs builds it.
platform() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "there is no executable for $(uname -s). On Windows, download tidings-windows-x64.exe from the release." ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no executable for $(uname -m). Build one from a clone: npm run build:binary" ;;
  esac
  libc=""
  # musl's ldd prints its name, and fails.
  if [ $os = linux ] && (ldd --version 2>&1 || true) | grep -qi musl; then
    [ $arch = x64 ] || fail "there is no executable for musl on $arch. Build one from a clone: npm run build:binary"
    libc=-musl
  fi
  say "tidings-$os-$arch$libc"
}

download() {
  if has curl; then
    curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"
  elif has wget; then
    wget --quiet --output-document="$2" "$1"
  else
    fail "curl or wget is needed to download a release."
  fi || fail "$1 could not be downloaded. See --from and --version."
}

checksum() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    fail "sha256sum or shasum is needed to check what was downloaded."
  fi | cut -d ' ' -f 1
}

# Downloads a file of the release, and compares it with the release's list.
fetch() {
  download "$address/$1" "$scratch/$1"
  expected=$(awk -v name="$1" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
  [ -n "$expected" ] || fail "$1 is not in the release's SHA256SUMS, so nothing was installed."
  [ "$(checksum "$scratch/$1")" = "$expected" ] ||
    fail "$1 differs from its checksum in SHA256SUMS, so nothing was installed. Try again; if it stays, tell who made the release."
}

# Whether an upgrade has an old service to return to. One that never started is installed as if it were new.
has_service() {
  [ -n "$old" ] && [ -e $unit ] || return
  systemctl is-active --quiet tidings || { [ $start = yes ] && systemctl is-enabled --quiet tidings; }
}

manages_service() { [ $service = yes ] && [ -d /run/systemd/system ]; }

add_user() {
  id tidings >/dev/null 2>&1 ||
    useradd --system --home-dir $data --shell /usr/sbin/nologin tidings
}

# Without a sound, except for what the last of ten tries says.
is_healthy() {
  for _ in 1 2 3 4 5 6 7 8 9; do
    ! $bin/tidings-command healthcheck 2>/dev/null || return 0
    sleep 1
  done
  $bin/tidings-command healthcheck
}

put_service() {
  install -m 755 "$scratch/tidings-command" $bin/tidings-command
  install -m 644 "$scratch/tidings.service" $unit
  add_user
  mkdir -p "$(dirname $settings)"
  if [ ! -e $settings ]; then
    (
      umask 077
      say "# Settings of Tidings, such as TIDINGS_URL=https://tidings.example.com. /docs/settings lists them." >$settings
    )
  fi
  systemctl daemon-reload
}

start_first() {
  if [ $start = no ]; then
    say "The service is installed and not started. Write its settings into $settings, then:"
    say "  systemctl enable --now tidings"
    return
  fi
  say "Starting the service …"
  if ! { systemctl enable --quiet --now tidings && is_healthy; }; then
    say "The service did not start. Its last messages:" >&2
    journalctl --unit tidings --output cat --lines 10 --no-pager >&2 || true
    fail "mend the cause, and run: systemctl restart tidings"
  fi
  say "Tidings runs as the service tidings, with its data in $data."
  journalctl --unit tidings --output cat --no-pager 2>/dev/null |
    sed -n 's/.*"setupLink":"\([^"]*\)".*/Open this link to create your account: \1/p' | tail -n 1
  say "Settings go into $settings; then: systemctl restart tidings"
  say "Commands: tidings-command doctor, tidings-command --help"
}

# The old executable stays until the new one is ready.
upgrade() {
  cp -p $bin/tidings $bin/.tidings.old
  cp -p $unit "$scratch/old.service"
  [ ! -e $bin/tidings-command ] || cp -p $bin/tidings-command "$scratch/old-command"
  mv $bin/.tidings.new $bin/tidings
  put_service
  say "Starting the new version. An upgrade of a large database takes a while …"
  if systemctl restart tidings && is_healthy; then
    rm $bin/.tidings.old
    say "Tidings was upgraded from $old to $new."
    return
  fi
  say "The new version did not start. Its last messages:" >&2
  journalctl --unit tidings --output cat --lines 10 --no-pager >&2 || true
  systemctl stop tidings || true
  mv $bin/.tidings.old $bin/tidings
  install -m 644 "$scratch/old.service" $unit
  [ ! -e "$scratch/old-command" ] || install -m 755 "$scratch/old-command" $bin/tidings-command
  systemctl daemon-reload
  systemctl reset-failed tidings 2>/dev/null || true
  if systemctl restart tidings && is_healthy; then
    fail "version $old runs again, and nothing was lost."
  fi
  fail "version $old is installed again, and does not start either. If its messages say that the database is newer, run \"tidings-command rollback\" and \"systemctl start tidings\" (docs/backup.md)."
}

remove() {
  if [ -e $unit ]; then
    systemctl disable --quiet --now tidings 2>/dev/null || true
    rm -f $unit
    systemctl daemon-reload 2>/dev/null || true
  fi
  rm -f $bin/tidings $bin/tidings-command $bin/.tidings.old $bin/.tidings.new
  say "Tidings was removed. Its data is still in $data, its settings are in $(dirname $settings), and the user tidings is there."
  say "To delete them too: rm -r $data $(dirname $settings) && userdel tidings"
}

main() {
  read_options "$@"
  [ "$(id -u)" = 0 ] || fail "run it as root: … | sudo sh"
  if [ $uninstall = yes ]; then
    remove
    return
  fi
  case $from in
    @*) fail "say where the releases are: --from https://github.com/OWNER/tidings/releases" ;;
  esac
  name=$(platform)
  address=$from/latest/download
  [ -z "$version" ] || address=$from/download/v$version
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch" $bin/.tidings.new' EXIT
  trap 'exit 1' HUP INT TERM

  say "Downloading $name from $address …"
  download "$address/SHA256SUMS" "$scratch/SHA256SUMS"
  fetch "$name.gz"
  if manages_service; then
    fetch tidings.service
    fetch tidings-command
  fi
  mkdir -p $bin
  gzip -dc "$scratch/$name.gz" >$bin/.tidings.new
  chmod 755 $bin/.tidings.new
  # macOS runs only programs that are signed, at least by nobody.
  if [ "$(uname -s)" = Darwin ] && has codesign; then codesign --sign - --force $bin/.tidings.new; fi
  new=$($bin/.tidings.new --version) || fail "the executable does not run on this machine, so nothing was installed."
  old=""
  [ ! -x $bin/tidings ] || old=$($bin/tidings --version) || old="an unknown version"

  if manages_service; then
    if has_service; then
      upgrade
    else
      mv $bin/.tidings.new $bin/tidings
      put_service
      say "Installed Tidings $new in $bin/tidings."
      start_first
    fi
  else
    mv $bin/.tidings.new $bin/tidings
    say "Installed Tidings $new in $bin/tidings. To run it, with its data in the directory data: tidings"
  fi
}

# At the end, so that a download that breaks off runs nothing.
main "$@"
