"""HTTP requests, and how frameworks declare their routes."""

from __future__ import annotations

import re
import time

import pytest

from winnow.search.code.routes import Request, declares, request_in, request_to, requests_in
from winnow.search.code.routes import routes_of as routes_of_request

REQUESTS = [
    "POST /api/chats/5",
    "POST https://example.org/api/chats/5?stream=1 HTTP/1.1",
    "POST /api/chats/5 404 in 12ms",
    '[GIN] 2024/04/18 - 10:22:51 | 404 |  2.5s | 127.0.0.1 | POST "/api/chats/5"',
    'INFO:     127.0.0.1:51234 - "POST /api/chats/5 HTTP/1.1" 404 Not Found',
    'Started POST "/api/chats/5" for ::1 at 2024-04-18 10:22:51 +0200',
    "curl -X POST http://localhost:8080/api/chats/5",
    "curl 'https://example.org/api/chats/5?x=1' \\\n  -H 'accept: */*' \\\n  --data-raw '{}'",
]
DECLARATIONS = {
    "Gin": 'r.POST("/api/chats/:id", s.Chat)',
    "net/http": 'mux.Handle("POST /api/chats/{id}", chat)',
    "FastAPI": '@app.post("/api/chats/{id}")',
    "FastAPI, with a prefix": '@router.post("/chats/{id}")',
    "Flask": '@app.route("/api/chats/<int:id>", methods=["POST"])',
    "Django": 'path("api/chats/<int:pk>/", views.chat)',
    "Django, by a pattern": 're_path(r"^chats/(\\d+)/$", views.chat)',
    "Django, with an optional slash": 're_path(r"chats/(?P<pk>\\d+)/?$", views.chat)',
    "Django REST framework": 'api_router.register(r"chats", ChatViewSet)',
    "Spring, with a name": '@RequestMapping(value = "/chats/{id}", method = POST)',
    "Express": "router.post('/chats/:id', chat)",
    "Express, with types": "router.post<Params, Body>('/chats/:id', chat)",
    "Rails, with an optional part": "post '/chats/:id(.:format)', to: 'chats#create'",
    "Rails, a resource": "resources :chats do",
    "Laravel, a resource": "Route::apiResource('users.chats', UserChatController::class);",
    "Phoenix, a resource": 'resources "/chats", ChatController',
    "Rails": "post '/api/chats/:id', to: 'chats#create'",
    "Laravel": "Route::post('/chats/{chat}', [ChatController::class, 'store']);",
    "Phoenix": 'post "/chats/:id", ChatController, :create',
    "Spring": '@PostMapping("/chats/{id}")',
    "ASP.NET": '[HttpPost("chats/{id}")]',
    "axum": '.route("/api/chats/:id", post(chat))',
    "a literal": 'client.post("/api/chats/5")',
}
OTHERS = [
    'r.POST("/api/chats", s.Chats)',
    'r.POST("/api/chats/:id/messages", s.Messages)',
    '@app.post("/api/users/{id}")',
    'cache.get("5")',
    "resources :chats_of_users",
    'resource "chats-bucket" "main" {',
    'registry.register("chats", Chats)',
    "See POST /api/chats/5 for more.",
]


def routes_of(text: str) -> list[str]:
    return _routes(request_in(text))


def routes_to(text: str) -> list[str]:
    return _routes(request_to(text))


def _routes(request: Request | None) -> list[str]:
    return routes_of_request(request) if request else []


@pytest.mark.parametrize("request_line", REQUESTS)
def test_requests_are_recognized(request_line: str) -> None:
    assert routes_of(request_line) == routes_of(REQUESTS[0]) != []


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("Chat fails\n\nPOST /api/chats/5 answers 500.", ["post /api/chats/5"]),
        ("Chat fails\n\n`POST https://example.org/api/chats/5?x=1` 500", ["post /api/chats/5"]),
        ("Chat is slow: /api/chats/5/?x=1 takes 12 s", ["/api/chats/5/"]),
        ("I open http://localhost:3000/chats/5.", ["/chats/5"]),
        ("GET /a fails, then PUT /b (and PUT /c) fail", ["get /a", "put /b"]),
        ("See https://example.org/issues/5, src/chats/a and and/or.", []),
        ("It reads /etc/chats and /app/chats/a.py, not ~/chats.", []),
    ],
)
def test_reports_mention_requests(report: str, expected: list[str]) -> None:
    found = requests_in(report)
    written = (
        f"{each.method} {each.path}" if each.method.isalpha() else each.path for each in found
    )
    assert list(written) == expected


@pytest.mark.parametrize("address", ["/api/chats/5", "http://localhost:8080/api/chats/5?x=1#y"])
@pytest.mark.parametrize("framework", DECLARATIONS)
def test_an_address_without_a_method_may_have_any(address: str, framework: str) -> None:
    declaration = DECLARATIONS[framework]
    assert any(re.search(pattern, declaration) for pattern in routes_to(address))


@pytest.mark.parametrize("framework", DECLARATIONS)
def test_declarations_of_frameworks_match(framework: str) -> None:
    declaration = DECLARATIONS[framework]
    assert any(re.search(pattern, declaration) for pattern in routes_of(REQUESTS[0]))


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_do_not_match(line: str) -> None:
    assert not any(re.search(pattern, line) for pattern in routes_of(REQUESTS[0]))


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("GET /~alice/threads", "get '/~:user/threads'"),
        ("GET /~alice", "get '/~:user'"),
        ("GET /@alice/posts", 'app.MapGet("/@{name}/posts", Posts)'),
        ("GET /user-5/posts", 'path("user-<id>/posts/", posts)'),
        ("GET /~{name}/threads", "get '/~:user/threads'"),
    ],
)
def test_a_part_of_a_segment_may_be_a_parameter(request_line: str, expected: str) -> None:
    likeliest = routes_of(request_line)[0]
    found = [
        line
        for line in (expected, "get '/threads'", "get '/posts'", "get '/:id'")
        if re.search(likeliest, line)
    ]
    assert found == [expected]


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", "router.post('/chats/:id', chat)"),
        ("router.post(", "  '/chats/:id',"),
        ("router.post(", "  'chats/:id',"),
        ("@app.post(", '    "/api/chats/{id}",'),
        ("@RequestMapping(", '    value = "/chats/{id}",'),
        ("    path(", '        "chats/<int:pk>/",'),
        ("", '@api.post("/chats/{id}")'),
        ("", 'api.POST("/chats/:id", s.Chat)'),
    ],
)
def test_the_path_may_be_on_the_line_behind(before: str, line: str) -> None:
    assert any(declares(pattern, before, line) for pattern in routes_of(REQUESTS[0])[:-1])


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", 'await client.post("/chats/5", {'),
        ("", 'this.http.post("/chats/5")'),
        ("", 'axios.post("/chats/5")'),
        ("", 'api.post("/chats/5")'),
        ("", 'Http::post("/chats/5")'),
        ("", 'request(app).post("/chats/5")'),
        ("", 'const data = await post("/chats/5")'),
        ("", 'mutationFn: (data) => post("/chats/5", data),'),
        ("await apiClient.post(", '  "/chats/5",'),
        ("events = [", '  "chats/5",'),
        ("", '  "chats/5",'),
    ],
)
def test_the_call_of_a_client_declares_nothing(before: str, line: str) -> None:
    patterns = routes_of(REQUESTS[0])
    assert any(re.search(pattern, line) for pattern in patterns)
    assert not any(declares(pattern, before, line) for pattern in patterns)


NESTED = "POST /api/chats/my-chat/members"


@pytest.mark.parametrize(
    ("request_line", "line"),
    [
        (NESTED, "@Post(':id/members')"),
        (NESTED, '[HttpPost("{id}/members")]'),
        (NESTED, 'r.POST("/:id/members", s.Members)'),
        (NESTED, 'router.include_router(members, prefix="/chats/{id}/members")'),
        (NESTED, "    def members(self, request, pk=None):"),
        (NESTED, '    @action(detail=True, url_path="members")'),
        (NESTED, "post :members, on: :member"),
        ("GET /api/chats/feed", "@Get('feed')"),
        ("GET /api/chats/feed", "Route::get('feed', 'ChatController@feed');"),
        ("GET /api/chats/feed", "url(r'^chats/feed/?$', feed),"),
        ("GET /api/chats", "@Controller('chats')"),
        ("GET /api/chats/my-chat", "@Controller('chats')"),
        ("GET /api/chats/my-chat", 'chats.Register(v1.Group("/chats"))'),
        ("GET /api/chats/my-chat", "app.use('/api/chats', chats)"),
        ("GET /api/chats/5", 'Blueprint("chats", __name__, url_prefix="/chats")'),
        ("GET /api/chats/5", '.nest("/chats", chats::router())'),
        ("GET /api/chats/5", "url(r'^api/chats/', include('chats.urls')),"),
        ("GET /api/chats/5", "Route::group(['prefix' => 'chats'], function () {"),
        ("GET /api/admin/chats", "namespace :admin do"),
    ],
)
def test_routers_and_actions_have_parts_of_a_path(request_line: str, line: str) -> None:
    assert any(declares(pattern, "", line) for pattern in routes_of(request_line)[:-1])


@pytest.mark.parametrize(
    ("request_line", "line"),
    [
        ("GET /api/chats", "app.use('/api', router)"),
        ("GET /api/v1/chats", "app.use('/api/v1', router)"),
        ("GET /api/chats/5", 'prefix = "chats"'),
        (NESTED, "    def members(self):"),
        (NESTED, 'r.POST("/:id", s.Chat)'),
    ],
)
def test_other_parts_of_a_path_are_not_enough(request_line: str, line: str) -> None:
    assert not any(declares(pattern, "", line) for pattern in routes_of(request_line))


def test_the_last_part_needs_a_declaration() -> None:
    patterns = routes_of("GET /api/v1/status")
    found = [
        any(re.search(pattern, line) for pattern in patterns)
        for line in (
            '@bp.route("/status")',
            '[HttpGet("status")]',
            "router.get('/status', show)",
            'settings.get("status")',
            'label = "/status"',
        )
    ]
    assert found == [True, True, True, False, False]


@pytest.mark.parametrize(
    "line",
    [
        "get a life",
        "GET",
        "GET /",
        "the POST body",
        "/api/chats",
        "Get /x in order",
        "curl progress meter",
        "curl https://example.org",
        "where is /etc/hosts read",
        "how are routes declared",
        "",
    ],
)
def test_other_queries_are_no_requests(line: str) -> None:
    assert routes_of(line) == []


@pytest.mark.parametrize(
    ("question", "method"),
    [
        ("which handler serves POST /api/chats/5", "post"),
        ("where is POST /api/chats/5 handled?", "post"),
        ("where is the endpoint /api/chats/5", ""),
        ("what handles requests to /api/chats/5", ""),
    ],
)
def test_a_question_may_be_about_a_request(question: str, method: str) -> None:
    found = request_in(question)
    assert found is not None
    assert (re.fullmatch(found.method, "post") is not None, found.path) == (True, "/api/chats/5")
    assert bool(method) == (found.method == method)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "GET ",
        "GET /",
        'GET "',
        "/a",
        " 404",
        'GET "/a ',
        "curl -",
        "http://",
        "where is ",
        "what /x ",
    ],
)
def test_long_lines_take_linear_time(part: str) -> None:
    started = time.process_time()
    for size in (900, 100_000):
        text = part * (size // len(part))
        routes_of(text)
        requests_in(text)
        routes_of(f"curl {text}")
        routes_to(text)
        declares(routes_of("GET /api/~a-b-c/5")[0], text, text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("part", ["/:a", "/[a]", "/a[[b", "/{a}-{b}", "/~:a", "/a-:-:b"])
def test_parameters_in_a_request_take_linear_time(part: str) -> None:
    started = time.process_time()
    path = part * (180 // len(part))
    for pattern in routes_of(f"GET {path}/end"):
        assert not declares(pattern, "", f"get '{path}/other'")
    assert time.process_time() - started < 2
