"""Where a webhook may go: each forbidden network, in each spelling of an address."""

from ipaddress import IPv4Address, ip_address, ip_network

import pytest

from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.addresses import CLOSED, NEVER, Allowed, RefusedTarget, checked, forbidden, look_up, target_of

NOTHING = Allowed()
FORBIDDEN = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 168.63.129.16
    169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1 192.88.99.3
    192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255
    240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1
    2001:0:7f00:1:: 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 3fff::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254
    fd20:ce::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1 4000::1
"""
PUBLIC = "1.1.1.1 8.8.8.8 93.184.215.14 172.32.0.1 100.128.0.1 2606:4700:4700::1111 2a00:1450:4001::1"
LOOPBACK = [  # 127.0.0.1, in spellings that some resolver takes
    "127.0.0.1", "2130706433", "017700000001", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "0x7F.1",
    "127.0.0.01", "0x", "localhost", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "1.2.3.4.5", "256.1.1.1", "１２７.0.0.1",
    "127。0。0。1",    "%31%32%37.0.0.1", "127.0.0.1.", "[::1%lo]", "[127.0.0.1]", "[::1]x", "0", "",
]  # fmt: skip


def refusal(url: str, allowed: Allowed = NOTHING) -> str:
    """Why a URL is refused, with a real lookup of its host."""

    def create() -> None:
        target = target_of(url, allowed)
        checked(target.host, look_up(target), allowed)

    with pytest.raises(RefusedTarget) as raised:
        create()
    return str(raised.value)


@pytest.mark.parametrize("address", FORBIDDEN.split())
def test_a_forbidden_address(address: str) -> None:
    assert forbidden(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_a_public_address(address: str) -> None:
    assert not forbidden(address)
    assert not forbidden(f"::ffff:{address}" if "." in address else address)


def test_the_ends_of_each_network() -> None:
    for network in (*NEVER, *CLOSED):
        for address in (network[0], network[-1]):
            assert forbidden(str(address)), address
            if isinstance(address, IPv4Address):
                assert forbidden(f"::ffff:{address}"), address


@pytest.mark.parametrize("host", LOOPBACK)
def test_no_spelling_of_loopback_is_accepted(host: str) -> None:
    assert refusal(f"https://{host}/").startswith("url: ")


def test_each_ipv4_address_in_numbers_is_refused_by_its_spelling() -> None:
    for address in ("169.254.169.254", "10.0.0.1", "8.8.8.8"):
        number = int(ip_address(address))
        for host in (f"{number}", f"0x{number:x}", f"0{number:o}", f"{number >> 24}.{number & 0xFFFFFF}"):
            assert "write an address as" in refusal(f"https://{host}/"), host


def test_one_bad_address_of_several_is_enough() -> None:
    assert checked("h", ["1.1.1.1", "1.1.1.1", "2606:4700::1"], NOTHING) == ["1.1.1.1", "2606:4700::1"]
    with pytest.raises(RefusedTarget, match=r"'h' has the address 10\.0\.0\.1"):
        checked("h", ["1.1.1.1", "10.0.0.1"], NOTHING)


def test_networks_that_are_allowed() -> None:
    home = Allowed.of(["10.0.0.0/8", "127.0.0.0/8", "::1"])
    for address in ("10.1.2.3", "127.0.0.1", "::ffff:127.0.0.1", "::1"):
        assert checked("h", [address], home) == [address]
    assert "192.168.0.1" in refusal("https://192.168.0.1/", home)


def test_link_local_is_never_allowed() -> None:
    everything = Allowed.of(["0.0.0.0/0", "::/0"])
    for network in NEVER:
        assert forbidden(str(network[-1]), everything.networks), network
        with pytest.raises(ConfigError, match="stays forbidden"):
            Allowed.of([str(network)])
    assert not forbidden("10.0.0.1", everything.networks)
    for text in ("10.0.0.1/8", "home", ""):
        with pytest.raises(ConfigError, match="allowed: a network"):
            Allowed.of([text])


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.org/", "scheme 'http'"),
        ("ftp://example.org/", "scheme 'ftp'"),
        ("//example.org/", "scheme ''"),
        ("https://example.org:8443/", "port 8443"),
        ("https://example.org:80/", "port 80"),
        ("https://example.org:x/", "malformed"),
        ("https://ann:s3cr3t@example.org/", "a user and a password"),
        ("https://@example.org/", "a user and a password"),
        ("https://example.org/#x", "fragment"),
        ("https://example.org\\@127.0.0.1/", "printable"),
        ("https://exam\nple.org/", "printable"),
        ("https://example.org/ x", "printable"),
        (f"https://example.org/{'x' * 2000}", "printable"),
        ("https://exa_mple..org/", "the host"),
    ],
)
def test_a_refused_url(url: str, why: str) -> None:
    with pytest.raises(RefusedTarget, match=why) as raised:
        target_of(url, NOTHING)
    assert "s3cr3t" not in str(raised.value)


def test_where_a_url_leads() -> None:
    assert target_of("https://Example.org/a%20b?x=1", NOTHING) == ("https", "example.org", 443, "/a%20b?x=1")
    wide = Allowed.of(http=True, ports=[8080])
    assert target_of("http://example.org", wide) == ("http", "example.org", 80, "/")
    assert target_of("http://example.org:8080", wide).authority == "example.org:8080"
    assert target_of("https://[2606:4700::1]/", wide).authority == "[2606:4700::1]"
    assert target_of("https://example.org:/", wide).authority == "example.org"
    with pytest.raises(ConfigError, match="allowed: 1 to 65535"):
        Allowed.of(ports=[0])
    assert ip_network("10.0.0.0/8") in Allowed.of(["10.0.0.0/8"]).networks
