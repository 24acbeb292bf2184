"""The code of the pages runs, and names what exists."""

import re
from pathlib import Path

import pytest
from clients.python.tests.support import URL, made

import quarterhour_client
from quarterhour_client import Client, Sender, errors, order_item
from quarterhour_client.testing import FakeQuarterhour

README = Path(__file__).parents[1] / "README.md"
GETTING_DATA_IN = Path(__file__).parents[3] / "docs" / "getting-data-in.md"
BLOCKS = [
    block
    for page in (README, GETTING_DATA_IN)
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("block", BLOCKS, ids=[str(number) for number in range(len(BLOCKS))])
def test_each_piece_of_code_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fake = FakeQuarterhour()
    fake.answer_with("shop", "order-3:1", "rejected")
    clients: list[Client] = []

    def opened(url: str, spool: str, **settings: object) -> Client:
        clients.append(Client(url, spool, **{"transport": fake, **settings}))  # type: ignore[arg-type] # the README's
        return clients[-1]

    client = opened(URL, "parked.spool")
    client.record(made(3))
    client.flush(60)
    names = {"Client": opened, "Sender": lambda url: Sender(url, transport=fake), "order_item": order_item}
    values = {"client": client, "url": URL, "event": made(1), "events": [made(2)], "corrected": made(4)}
    code = block.replace("import Client, sale", "import sale")
    exec(compile(code, str(README), "exec"), {**names, **values, "sender": Sender(URL, transport=fake)})  # noqa: S102 - our own
    for one in clients:
        one.close()
    assert "error" not in capsys.readouterr().out


def test_every_error_that_is_raised_for_a_user_is_public() -> None:
    named = {name for name in vars(errors) if name.endswith("Error")}
    assert named <= set(quarterhour_client.__all__)
    assert set(quarterhour_client.__all__) <= set(vars(quarterhour_client))
