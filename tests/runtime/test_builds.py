"""Models are built at their first use, by whichever thread comes first."""

import sys
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

from support.folders import environment
from support.programs import run_program

STRESS = """
    import sys
    from threading import Barrier, Thread

    sys.setswitchinterval(1e-6)
    from mcp_revisions.v2025_11_25 import models as m
    from mcp_protogen.runtime.core.models import validator_of

    text = {"type": "text", "text": "a"}
    result = {"content": [text, {"type": "image", "data": "", "mimeType": "x"}]}
    params = {"messages": [{"role": "user", "content": [text]}], "maxTokens": 1}
    schema = {"type": "object", "properties": {}}
    form = {"message": "m", "requestedSchema": schema}
    work = [
        lambda: m.CallToolResult.from_wire(result).to_json(),
        lambda: m.CallToolResult(content=[m.TextContent(text="a")]).to_json(),
        lambda: m.CreateMessageRequestParams.from_wire(params).to_json(),
        lambda: m.SamplingMessage(role="user", content=m.TextContent(text="a")).to_json(),
        lambda: validator_of(m.ElicitRequestParams)(form),
        lambda: validator_of(m.ContentBlock)(text).to_json(),
        lambda: m.TextContent.model_construct(text="a").to_json(),
        lambda: m.CreateMessageResult.model_rebuild(),
    ]
    failures = []
    barrier = Barrier(3 * len(work))

    def run(task):
        barrier.wait()
        try:
            task()
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=run, args=(task,)) for task in work * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
"""


def run(script: str) -> str:
    return run_program(sys.executable, "-c", dedent(script), env=environment())


def test_threads_may_use_unbuilt_models_at_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, [STRESS] * 4))


def test_importing_models_builds_none_of_them() -> None:
    script = """
        from mcp_revisions.v2025_11_25 import models
        from mcp_protogen.runtime.core.models import WireModel
        print([c.__name__ for c in WireModel.__subclasses__() if c.__pydantic_complete__])
    """
    assert run(script) == "[]\n"


def test_reading_builds_only_what_it_refers_to() -> None:
    script = """
        from mcp_revisions.v2025_11_25 import models as m, methods
        methods.TABLE.parse_request(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}', sender="client"
        )
        classes = (m.CallToolRequestParams, m.TaskMetadata, m.CallToolResult, m.TextContent)
        print([c.__pydantic_complete__ for c in classes])
    """
    assert run(script) == "[True, True, False, False]\n"


def test_a_list_of_revisions_loads_neither_models_nor_pydantic() -> None:
    script = """
        import sys
        from mcp_protogen.runtime.core.revision import Revision
        module = "mcp_revisions.v2025_11_25.methods"
        revision = Revision("2025-11-25", era="handshake", module=module)
        loaded = [name for name in ("pydantic", "dataclasses", "typing") if name in sys.modules]
        print(loaded, revision, revision.load().REVISION)
    """
    assert run(script) == (
        "[] Revision('2025-11-25', era='handshake', module='mcp_revisions.v2025_11_25.methods')"
        " 2025-11-25\n"
    )
