"""Who may talk to the server: this computer's own page, opened by the address with the token, and no other.

A server on the loopback interface can be reached by every page in the browser and every user of the computer.
The token keeps users out, the cookie's SameSite and the origin keep other pages out, and the host keeps out
pages whose name was made to mean this computer after they were loaded (DNS rebinding).
"""

import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD")
_GO_ON = '<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>panfocus</title>'

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob: data:; style-src 'self'; script-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Let in who has the token and comes from our own page; put the protective headers on every answer."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{host}:{port}" for host in HOSTS}
        if port == 80:
            self._hosts |= set(HOSTS)
        self._cookie = f"panfocus-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets here
            raise RuntimeError(f"{scope['type']} is not spoken here")

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, send_protected)

    def _answer(self, scope: Scope) -> Response | None:
        """Return what a request that is not let in is told; None for one that is."""
        headers, method = Headers(scope=scope), scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _line(421, "this server answers to 127.0.0.1 and localhost alone")
        from_elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")  # same: of another port
        if method == "GET" and scope["path"] == "/" and self._is_token(_token_in_address(scope)):
            return self._welcome(from_elsewhere=from_elsewhere)
        if from_elsewhere:
            return _line(403, "requests from other pages are refused")
        by_script = self._is_token(_bearer(headers))  # browsers never send this header by themselves
        if not (by_script or self._is_token(self._cookie_of(headers))):
            return _line(403, "open the address, with its token, that panfocus app printed")
        origin = headers.get("origin", "")
        ours = origin.lower() == f"http://{hosts[0].lower()}"
        if not (method in _SAFE or ours or (by_script and not origin)):
            return _line(403, "requests that change something must come from this server's own page")
        return None

    def _welcome(self, *, from_elsewhere: bool) -> Response:
        """Give the cookie, and lead on to an address without the token."""
        # From the file that the browser was started with: the cookie, a strict one, is sent by a page of ours
        # alone, and not along a redirect.
        answer = HTMLResponse(_GO_ON) if from_elsewhere else RedirectResponse("/", 303)
        # The token, not a value of this start: pages that are open find their way in after a restart.
        answer.set_cookie(self._cookie, self._token, path="/", httponly=True, samesite="strict")
        return answer

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _cookie_of(self, headers: Headers) -> str:
        # By hand: parsers stop at an odd cookie, and cookies of other programs on 127.0.0.1 come along.
        cookies = ";".join(headers.getlist("cookie")).split(";")
        named = (cookie.strip().partition("=") for cookie in cookies)
        return next((value for name, _, value in named if name == self._cookie), "")


def _bearer(headers: Headers) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _token_in_address(scope: Scope) -> str:
    query: str = scope["query_string"].decode("latin-1")
    return parse_qs(query).get("token", [""])[0]


def _line(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)
