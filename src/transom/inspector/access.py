"""Who may ask the inspector: only the browser on this machine that opened the one-time link, and no page of another
site.

A conversation is private, and any web page that the user has open can send requests to this machine. So:

- The `Host` must be this machine by name or number, with our port: a foreign name for 127.0.0.1 is refused.
- The link has a token that works once. It is answered with a cookie, which every later request must have.
- A request that a page of another origin sent is refused, by `Sec-Fetch-Site` and `Origin`, and no answer allows CORS.
- No answer lets a browser run what is not a file of ours, whatever a conversation holds (`Content-Security-Policy`).
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest, token_urlsafe
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""The headers that every answer has."""

LINK_IS_USED = (
    "This link was used already, or is not ours. End `transom inspect` and start it again: it prints a new link.\n"
)
NOT_THIS_HOST = "This page is for this machine only, at the address that `transom inspect` has printed.\n"
FROM_OTHER_SITE = "Another page has sent this request: refused.\n"


class Access:
    """An ASGI application around another one: it refuses requests that may not ask (see this module), and adds HEADERS
    to every answer.

    `port`: where the server listens. `token`: of the one-time link.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie, self._session = f"transom_{port}", token_urlsafe(32)
        self._is_used = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on to the application if it may ask; else answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._answer(scope)
        await (self._app if answer is None else answer)(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """A refusal, or the redirect with which the one-time link is answered. None if the application may answer."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse(NOT_THIS_HOST, 421)
        is_entry = scope["path"] == "/" and scope["method"] in {"GET", "HEAD"}
        if not is_entry and not self._is_ours(headers, scope["method"]):
            return PlainTextResponse(FROM_OTHER_SITE, 403)
        if self._has_cookie(headers):
            return RedirectResponse("/", 303) if is_entry and scope["query_string"] else None
        if is_entry and self._takes(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]):
            entered = RedirectResponse("/", 303)
            entered.set_cookie(self._cookie, self._session, httponly=True, samesite="lax")
            return entered
        return PlainTextResponse(LINK_IS_USED, 403)

    def _takes(self, token: str) -> bool:
        """Whether this is the token, and it was not used before. It is used from now on."""
        if self._is_used or not compare_digest(token.encode(), self._token.encode()):
            return False
        self._is_used = True
        return True

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and compare_digest(found.value.encode(), self._session.encode())

    def _is_ours(self, headers: Headers, method: str) -> bool:
        """Whether a page of this very origin sent the request, by the browser's headers. A request without them counts
        as ours if it only reads."""
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return False
        origin = headers.get("origin")
        if origin is None:
            return method in {"GET", "HEAD"}
        return origin.removeprefix("http://").lower() == headers.get("host", "").lower()
