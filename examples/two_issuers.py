"""Run a stack for each of two issuers, with its owner and its settings, and register the same agencies in both.

    python3 examples/two_issuers.py up --port 8081          # on this machine, on ports 8081 and 8082, until Ctrl-C
    python3 examples/two_issuers.py deploy --sam .venv-sam/bin/sam LedgerShards=4  # in AWS, after `make build`

Each folder in `two_issuers/` is an issuer, and its name the stage of its stack. An agency has its own tax profile with
each issuer: what is at home for one is reverse charge for the other. Running it again changes nothing that is equal.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent / "two_issuers"
ISSUERS = sorted(one for one in HERE.iterdir() if one.is_dir())


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    where = parser.add_subparsers(dest="where", required=True)
    where.add_parser("up").add_argument("--port", type=int, default=8081, help="of the first; 0: any free ports")
    deploying = where.add_parser("deploy")
    deploying.add_argument("--sam", default="sam", help="the SAM CLI")
    deploying.add_argument("parameters", nargs="*", metavar="NAME=VALUE", help="parameters of both, beside Stage")
    args = parser.parse_args()
    try:
        return up(args.port) if args.where == "up" else deploy(args.sam, args.parameters)
    except subprocess.CalledProcessError as error:
        return int(error.returncode)  # the program has said why


def up(port: int) -> int:
    """Run a local stack for each issuer, until one ends or Ctrl-C."""
    stacks: list[subprocess.Popen[str]] = []
    try:
        for number, issuer in enumerate(ISSUERS):
            command = ["quarterhour", "up", "--port", str(port and port + number)]
            stacks.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))  # noqa: S603
            load(issuer, "--url", address(stacks[-1]))
        print("Ctrl-C stops them.", flush=True)
        for stack in stacks:
            stack.communicate()
    except KeyboardInterrupt:
        return 0
    finally:
        for stack in stacks:
            stack.terminate()
            with suppress(KeyboardInterrupt):
                stack.communicate()
    return max(abs(int(stack.returncode)) for stack in stacks)


def address(stack: subprocess.Popen[str]) -> str:
    """Return where a local stack listens, once it has printed all that it prints at its start."""
    found = ""
    for line in stack.stdout or ():
        if line.startswith("Quarterhour on "):
            found = line.split()[2]
        if line.startswith("Data are in memory"):
            return found
    raise subprocess.CalledProcessError(stack.wait(), "quarterhour up")


def deploy(sam: str, parameters: list[str]) -> int:
    """Deploy a stack for each issuer, of the stage with its name and with the configuration of prod."""
    for issuer in ISSUERS:
        stack = f"quarterhour-{issuer.name}"
        names = ["--stack-name", stack, "--s3-prefix", stack, "--tags", "project=quarterhour", f"stage={issuer.name}"]
        own = ["--parameter-overrides", f"Stage={issuer.name}", *parameters]
        subprocess.run([sam, "deploy", "--config-env", "prod", *names, *own], check=True)  # noqa: S603
        load(issuer, "--stack", stack)
    return 0


def load(issuer: Path, *target: str) -> None:
    """Write an issuer's settings and owner into its stack, and register the agencies with their taxes there."""
    print(f"{issuer.name}: {target[1]}", flush=True)
    taxes = json.loads((issuer / "taxes.json").read_text("utf-8"))
    agencies = map(json.loads, (HERE / "agencies.ndjson").read_text("utf-8").splitlines())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agencies.ndjson"
        file.write_text("".join(f"{json.dumps({**one, 'tax': taxes[one['agency']]})}\n" for one in agencies), "utf-8")
        for command, path in (
            ("settings", issuer / "settings.json"),
            ("owner", issuer / "owner.json"),
            ("agencies", file),
        ):
            subprocess.run(["quarterhour", command, str(path), *target], check=True)  # noqa: S603, S607


if __name__ == "__main__":
    sys.exit(main())
