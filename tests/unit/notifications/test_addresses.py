"""The addresses that webhooks may be sent to, against the known tricks for reaching others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.notifications.addresses import LONGEST, Address, checked, is_public, read_address
from tests.support.cases import cases

REFUSED = [
    # Schemes, and what is no address.
    *("", "hooks.shop.com", "//hooks.shop.com/", "http://hooks.shop.com/", "HTTPS://hooks.shop.com/"),
    *("ftp://hooks.shop.com/", "file:///etc/passwd", "gopher://hooks.shop.com:443/", "javascript:alert(1)"),
    *("https:hooks.shop.com", "https:/hooks.shop.com/", "https:///hooks.shop.com/", "https:\\\\hooks.shop.com\\"),
    *(" https://hooks.shop.com/", "https://hooks.shop.com/ ", "https://hooks.shop.com/\n", "https://hooks.shop.com\t/"),
    *("https://hooks.shop.com\r\nHost: 10.0.0.1/", "https://hooks.shop.com/\x00", "https://", "https:///"),
    # IPv4 in every form.
    *("https://127.0.0.1/", "https://93.184.215.14/", "https://10.0.0.1/", "https://169.254.169.254/latest/meta-data"),
    *(
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://017700000001/",
    ),
    *(
        "https://127.1/",
        "https://127.0.1/",
        "https://0/",
        "https://0.0.0.0/",
        "https://127.0.0.1./",
        "https://1.1.1.1./",
    ),
    *("https://00000177.0.0.1/", "https://127.0.0.0x1/", "https://\uff11\uff12\uff17.0.0.1/", "https://127。0。0。1/"),
    # IPv6 in every form.
    *(
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[fe80::1]/",
    ),
    *("https://[fe80::1%25eth0]/", "https://[fc00::1]/", "https://[2002:7f00:1::]/", "https://[64:ff9b::7f00:1]/"),
    *("https://[2606:4700:4700::1111]/", "https://::1/", "https://[::127.0.0.1]/"),
    # Names of this machine and of networks.
    *("https://localhost/", "https://localhost.localdomain/", "https://a.localhost/", "https://printer.local/"),
    *("https://db.internal/", "https://metadata.google.internal/", "https://router.lan/", "https://nas.home.arpa/"),
    *("https://intranet/", "https://x.test/", "https://x.example/", "https://x.invalid/", "https://x.onion/"),
    *("https://1.0.0.127.in-addr.arpa/", "https://hooks.shop.com./", "https://hooks.shop.com..", "https://.shop.com/"),
    *("https://hooks..shop.com/", "https://-hooks.shop.com/", "https://hooks-.shop.com/", "https://ho_oks.shop.com/"),
    *("https://Hooks.Shop.com/", "https://höoks.shop.com/", "https://hooks.shop.c0m\u200d/", "https://ⓛocalhost.com/"),
    *("https://hooks.shop.1/", "https://hooks.shop.0x1/", "https://%6c%6fcalhost.com/", f"https://{'a' * 64}.com/"),
    f"https://{'a.' * 127}com/",
    # Users, ports, fragments, and what two parsers read differently.
    *("https://user@hooks.shop.com/", "https://user:word@hooks.shop.com/", "https://hooks.shop.com@127.0.0.1/"),
    *("https://127.0.0.1@hooks.shop.com/", "https://hooks.shop.com#@127.0.0.1/", "https://hooks.shop.com\\@127.0.0.1/"),
    *(
        "https://hooks.shop.com:80/",
        "https://hooks.shop.com:22/",
        "https://hooks.shop.com:0/",
        "https://hooks.shop.com:/",
    ),
    *("https://hooks.shop.com:65536/", "https://hooks.shop.com:99999/", "https://hooks.shop.com:-1/"),
    *("https://hooks.shop.com:0443/", "https://hooks.shop.com:443:80/", "https://hooks.shop.com:४४३/"),
    *("https://hooks.shop.com/#part", "https://hooks.shop.com\\path", "https://hooks.shop.com;127.0.0.1/"),
    *(
        "https://hooks.shop.com/a b",
        "https://hooks.shop.com/ä",
        "https://hooks.shop.com/<x>",
        "https://hooks.shop.com/[x]",
    ),
    *("https://hooks.shop.com,127.0.0.1/", "https://127.0.0.1,hooks.shop.com/", "https://hooks.shop.com/{x}"),
    f"https://hooks.shop.com/{'a' * LONGEST}",
]

NOT_PUBLIC = [
    "0.0.0.0",  # noqa: S104 - nothing binds it
    *("0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.0.1"),
    *("169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.170", "192.0.2.1"),
    *("192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.9", "224.0.0.1"),
    *("239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1"),
    *("::ffff:93.184.215.14", "::ffff:a00:1", "64:ff9b::7f00:1", "64:ff9b::5db8:d70e", "64:ff9b:1::a00:1", "100::1"),
    *("2001::1", "2001:0:7f00:1::", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1"),
    *("3fff::1", "3ffe::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1"),
    *("2606:4700::1111%1", "4000::1", "1.2.3", "0x7f000001", "", "localhost", "1.2.3.4.5"),
]

PUBLIC = ["93.184.215.14", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700:4700::1111"]


@cases("address", REFUSED)
def test_no_trick_is_an_address(address: str) -> None:
    assert read_address(address) is None


@cases("address", NOT_PUBLIC)
def test_no_address_of_a_network_is_public(address: str) -> None:
    assert not is_public(address)
    assert checked(["93.184.215.14", address]) == [], "one bad address of a name is enough"


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert checked([address, address]) == [address]


def test_ipv4_is_tried_before_ipv6_because_functions_have_no_other() -> None:
    assert checked(["2606:4700:4700::1111", "93.184.215.14"]) == ["93.184.215.14", "2606:4700:4700::1111"]
    assert checked([]) == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://hooks.shop.com", Address("hooks.shop.com", 443, "/")),
        ("https://hooks.shop.com/", Address("hooks.shop.com", 443, "/")),
        ("https://hooks.shop.com:8443/a/b?c=d&e", Address("hooks.shop.com", 8443, "/a/b?c=d&e")),
        ("https://hooks.shop.com?token=%2F", Address("hooks.shop.com", 443, "/?token=%2F")),
        ("https://xn--hks-snaa.shop.xn--p1ai:65535/~x", Address("xn--hks-snaa.shop.xn--p1ai", 65535, "/~x")),
        ("https://shop.com/http://127.0.0.1/", Address("shop.com", 443, "/http://127.0.0.1/")),
    ],
)
def test_a_good_address_is_read_into_its_parts(text: str, address: Address) -> None:
    assert read_address(text) == address


def test_this_machine_is_an_address_only_for_the_emulator() -> None:
    assert read_address("http://127.0.0.1:9000/hook", local=True) == Address(
        "127.0.0.1", 9000, "/hook", plain=True, local=True
    )
    for other in ("http://127.0.0.2:9000/", "http://hooks.shop.com/", "http://127.0.0.1.shop.com/", "http://10.0.0.1/"):
        assert read_address(other, local=True) is None


@given(st.from_regex(r"https://[ -~]{0,60}", fullmatch=True))
def test_whatever_is_an_address_goes_to_the_name_that_it_begins_with(text: str) -> None:
    address = read_address(text)
    if address:
        assert text.startswith(f"https://{address.host}")
        assert not any(one in address.host + address.target for one in "@#\\ ")


@given(st.ip_addresses())
def test_no_private_or_special_address_is_public(address: object) -> None:
    if not address.is_global or address.is_multicast:  # type: ignore[attr-defined]
        assert not is_public(str(address))
