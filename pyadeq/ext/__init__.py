"""What uses the public names alone.

| folder | what it is for |
|---|---|
| `operations` | the table of what can be asked from outside, and who may do it |
| `cli` | the command line, `adeq` |
| `server` | the REST service and the board, `adeq serve` |
| `outgoing` | events that go out: webhooks, and posts to chats |
| `connect` | other frameworks and libraries: ASGI, Django, OpenFeature, OpenTelemetry, Sentry; codecs that encrypt |
| `operate` | for operators: the doctor, periodic care, metrics, archives |
| `move` | ways in: from other queues and older layouts, and adapters with their interfaces |
| `prove` | chaos runs and their judge, benchmarks, the demo |
| `bindings` | clients in other languages, from templates |
| `shared` | what several of these use |
"""
