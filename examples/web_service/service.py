"""The web service. It enqueues tasks and answers at once: `uvicorn service:app`."""

from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException, Request, Response
from pydantic import BaseModel, Field
from reports import make_report, queue

app = FastAPI()


class Wanted(BaseModel):
    """The body of a request for a report."""

    customer: str = Field(pattern="^[a-z]{1,40}$")
    pages: int = Field(3, ge=1, le=20)


@app.post("/reports", status_code=202)
async def enqueue_report(
    wanted: Wanted, request: Request, response: Response, idempotency_key: Annotated[str | None, Header()] = None
) -> dict[str, str]:
    """Enqueue a report. A repeated request with the same Idempotency-Key gets the same task."""
    options = make_report.options(idempotency_key=idempotency_key, user=wanted.customer)
    receipt = await options.enqueue(wanted.customer, wanted.pages)
    response.headers["Location"] = str(request.url_for("show_report", id=receipt.id))
    return {"id": receipt.id, "status": receipt.status}


@app.get("/reports/{id}")
async def show_report(id: str) -> dict[str, Any]:
    """Show how far a report is, and its result."""
    if task := await queue.get(id):
        return {"state": task.state, "attempts": task.attempts, "progress": task.progress_text, "result": task.result}
    raise HTTPException(404, "there is no such report")


@app.delete("/reports/{id}")
async def cancel_report(id: str) -> dict[str, str]:
    """Cancel a report. If it runs, its worker stops it."""
    return {"status": await queue.cancel(id)}
