"""How chat services get a post: texts of others act as no markup, in any of them."""

import json
from base64 import b64decode
from urllib.parse import parse_qs

import pytest

from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.posts.content import Link, Post, Theirs, word
from pyadeq.ext.outgoing.posts.endpoints import Endpoint, Service, new_endpoint
from pyadeq.ext.outgoing.posts.groups import Message
from pyadeq.ext.outgoing.posts.services import SERVICES, Sent

HOSTILE = "@**all** <!channel> `x` ``` [a](http://evil) *b* & <@U1> \u202e#**x**"
ERROR = "~~~\n```\n<!everyone> @all\n```` `"
POST = Post(
    ("Task ", word(HOSTILE), " is dead"),
    [("User", (word("a`b"),)), ("Attempts", ("3",))],
    error=Theirs(ERROR),
    links=[Link("Show", "https://board/tasks/a%7Cb?x=1&y=2"), Link("Retry", "https://board/act"), Link("C", "u")],
)
MESSAGE = Message(post="first", stream="queue:mail", kind=HOSTILE, id="t1", at=1.5)


def endpoint(service: Service) -> Endpoint:
    options = {"zulip": {"channel": "ops", "secret": "env:KEY"}}.get(service, {})
    return new_endpoint(service, "env:URL", now=0.0, **options)  # type: ignore[arg-type]


def sent(service: Service, url: str = "https://chat.example/x/topic", secret: str | None = None) -> Sent:
    return SERVICES[service](endpoint(service), url, secret, MESSAGE, POST)


def test_zulip() -> None:
    made = sent("zulip", "https://chat.example/", "bot@chat.example:key")
    assert (made.url, made.media_type) == ("https://chat.example/api/v1/messages", "application/x-www-form-urlencoded")
    assert b64decode(dict(made.headers)["Authorization"].removeprefix("Basic ")) == b"bot@chat.example:key"
    fields = {name: value for name, (value,) in parse_qs(made.body.decode(), strict_parsing=True).items()}
    assert (fields["type"], fields["to"]) == ("stream", "ops")
    assert fields["topic"] == f"mail {HOSTILE}".replace("\u202e", "\ufffd")[:60]
    title, user, attempts, *error, links = fields["content"].split("\n")
    assert title == f"Task ```` {HOSTILE} ```` is dead".replace("\u202e", "\ufffd")
    assert (user, attempts) == ("* User: `` a`b ``", "* Attempts: 3")
    assert error == ["~~~~text", *ERROR.split("\n"), "~~~~"], "the fence is longer than any in it"
    assert links.startswith("[Show](https://board/tasks/a%7Cb?x=1&y=2) · [Retry](https://board/act)")


def test_slack() -> None:
    made = sent("slack")
    body = json.loads(made.body)
    assert made.headers == []
    assert body["unfurl_links"] is False
    title, user, _, *error, links = body["text"].split("\n")
    assert title.startswith("Task `@**all** &lt;!channel&gt; ˋxˋ ˋˋˋ [a](http://evil) *b* &amp; &lt;@U1&gt; ")
    assert title.endswith("` is dead")
    assert user == "• User: `aˋb`"
    assert error == ["```", "~~~", "ˋˋˋ", "&lt;!everyone&gt; @all", "ˋˋˋˋ ˋ", "```"]
    assert links.startswith("<https://board/tasks/a%7Cb?x=1&amp;y=2|Show> · <https://board/act|Retry>")
    assert "<!" not in body["text"]


def test_ntfy() -> None:
    made = sent("ntfy", secret="tk_1")
    body = json.loads(made.body)
    assert (made.url, body["topic"]) == ("https://chat.example/x/", "topic")
    assert made.headers == [("Authorization", "Bearer tk_1")]
    assert body["title"] == f"Task {HOSTILE} is dead".replace("\u202e", "\ufffd"), "it is plain text there"
    assert body["message"] == f"User: a`b\nAttempts: 3\n{ERROR}"
    assert body["click"] == "https://board/tasks/a%7Cb?x=1&y=2"
    assert body["actions"][1] == {"action": "view", "label": "Retry", "url": "https://board/act"}
    assert "markdown" not in body
    assert sent("ntfy", secret="ann:pw").headers == [("Authorization", "Basic YW5uOnB3")]
    long = POST._replace(error=Theirs("ü" * 5000))
    text = json.loads(SERVICES["ntfy"](endpoint("ntfy"), "https://x/t", None, MESSAGE, long).body)["message"]
    assert 3990 < len(text.encode()) <= 4000


def test_json() -> None:
    made = sent("json", secret="s3")
    body = json.loads(made.body)
    assert made.headers == [("Authorization", "Bearer s3")]
    assert (body["post"], body["stream"], body["id"], body["error"]) == ("first", "queue:mail", "t1", ERROR)
    assert body["facts"] == {"User": "a`b", "Attempts": "3"}
    assert body["links"]["retry"] == "https://board/act"


@pytest.mark.parametrize(
    ("service", "options", "why"),
    [
        ("slack", {"url": "https://hooks.slack.com/services/x"}, "that of Slack is a secret"),
        ("slack", {"secret": "env:X"}, "Slack needs none"),
        ("zulip", {"channel": "ops"}, "Zulip needs that of a bot"),
        ("zulip", {"secret": "env:X"}, "Zulip needs one"),
        ("ntfy", {"channel": "ops"}, "the other services accept none"),
        ("ntfy", {"secret": "tk_secret"}, "allowed: env:NAME"),
        ("ntfy", {"url": "ftp://x/y"}, "allowed: env:NAME"),
        ("json", {"about": ["task.dead"]}, "'task.dead' is not accepted"),
        ("json", {"about": []}, "0 patterns"),
        ("json", {"streams": ["queue:adeq-posts"]}, "'queue:adeq-posts' is not accepted"),
        ("json", {"every": 0.5}, "allowed: 1 s to a day"),
        ("json", {"board": "https://u:p@x"}, "board: "),
        ("json", {"board": "javascript:x"}, "board: "),
        ("json", {"actions": "code"}, "give its address"),
        ("matrix", {}, "allowed: zulip, ntfy, slack, json"),
    ],
)
def test_what_is_wrong_is_refused(service: Service, options: dict[str, object], why: str) -> None:
    given = {"url": "env:URL", **options}
    with pytest.raises(ConfigError, match=why) as raised:
        new_endpoint(service, given.pop("url"), now=0.0, **given)  # type: ignore[arg-type]
    assert "tk_secret" not in str(raised.value)


def test_a_secret_that_is_no_header_is_refused_unseen() -> None:
    for secret in ("a\nb:c", "wrong", "ü:x"):
        with pytest.raises(ConfigError, match="secret: ") as raised:
            sent("zulip", secret=secret)
        assert secret not in str(raised.value)
