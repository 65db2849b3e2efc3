"""The inputs of a generation, as digests.

This module only hashes, and has no slow imports, so that checking an up-to-date package costs
little more than reading it. It checks only that snapshots match their pins.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mcp_protogen.base.canonical import digest, digest_files, parse_json, pretty, sha256
from mcp_protogen.base.resources import (
    runtime_files,
    runtime_folder,
    schema_folder,
    templates_folder,
)
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile, GivenPatches
from mcp_protogen.pipeline.inputs.absorbed import merge_facts
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_facts, pinned_extension
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    extensions_folder,
    is_edited,
    load_pins,
    pin_of,
    read_snapshot,
)
from mcp_protogen.pipeline.options import OPTIONS
from mcp_protogen.pipeline.package import (
    GENERATOR,
    PINNED,
    ExtensionInputs,
    GenerationInputs,
    RevisionInputs,
)

_CODE = Path(__file__).resolve().parents[2]
# The parts whose code affects the output.
GENERATING = (
    "base",
    "pipeline/derive",
    "pipeline/emit",
    "pipeline/inputs",
    "pipeline/normalise",
    "pipeline/plans",
    "targets",
)
_TEMPLATES = ("models", "package", "targets")


def read_inputs(options: GenerationOptions, folder: Path | None = None) -> GenerationInputs:
    """Return the digests of all inputs for `options`.

    `folder` is a schema folder in place of the installed one. Raise `ProblemError` for an unknown
    revision, a snapshot that does not match its pin, or a file that is not JSON.
    """
    reader = _SchemaFolder(folder or schema_folder())
    generated = {revision: reader.inputs(revision, options) for revision in options.revisions}
    extensions = {name: reader.extension(name, options) for name in options.extensions}
    return GenerationInputs(
        generator=GENERATOR,
        generator_digest=_code_digest(),
        # An installed runtime may change without the package.
        runtime_digest="" if options.runtime or options.target else _runtime_digest(),
        templates_digest=_templates_digest(options.templates),
        options=_effective_options(options),
        revisions=dict(sorted({**options.kept, **generated}.items())),
        extensions=dict(sorted({**options.kept_extensions, **extensions}.items())),
    )


def _effective_options(options: GenerationOptions) -> dict[str, Any]:
    """Return the options that change the output, except revisions."""
    values = {option.name: option.record(options) for option in OPTIONS if option.record}
    values["target-version"] = options.distribution
    return {name: value for name, value in values.items() if value is not None}


class _SchemaFolder:
    """A schema folder; each file is read once, even for several revisions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pins = load_pins(folder)
        self._facts: dict[str, Any] = {}
        self._descriptions: dict[str, Any] = self._json("descriptions.json") or {}

    def inputs(self, revision: str, options: GenerationOptions) -> RevisionInputs:
        file = options.schemas.get(revision)
        source, published, commit, snapshot = (
            _user_schema(file) if file else self._pinned_schema(revision)
        )
        edited = file is not None and is_edited(revision, snapshot, self._pins)
        facts, patches, wires = self._files_about(revision, snapshot, edited=edited)
        return RevisionInputs(
            source=source,
            published=published,
            spec_commit=commit,
            schema=_schema_digest(snapshot, wires),
            patches=_patches_digest(patches, options.patches_of(revision)),
            facts=digest(facts) if facts is not None else "",
            descriptions=self._descriptions_digest(revision),
            rules=self._rules_digest(revision, options),
            era=facts["lifecycle"]["era"] if facts is not None else "",
        )

    def extension(self, name: str, options: GenerationOptions) -> ExtensionInputs:
        pinned, given = pinned_extension(name, self._folder), options.extensions[name]
        entry: tuple[str, str, str | None, bytes]
        if given is not None:
            entry = _user_schema(given)
        elif pinned.pin is not None:
            published = pinned.pin.published
            snapshot = read_snapshot(name, extensions_folder(self._folder), kind=EXTENSION)
            entry = PINNED, published.sha256, published.spec_commit, snapshot
        else:  # its facts have its types
            entry = PINNED, "", None, b""
        patches = self._json(EXTENSION.member, name, "patches.json")
        facts: Any = extension_facts(name, self._folder)
        rules = self._json(EXTENSION.member, name, "translation.json")
        revisions = {*options.revisions, *options.kept}
        return ExtensionInputs(
            source=entry[0],
            published=entry[1],
            spec_commit=entry[2],
            schema=sha256(entry[3]) if entry[3] else "",
            patches=digest(patches) if patches is not None else "",
            facts=digest(facts if rules is None else [facts, rules]) if facts else "",
            revisions=tuple(revision for revision in pinned.revisions if revision in revisions),
        )

    def _files_about(
        self, revision: str, snapshot: bytes, *, edited: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return the facts, patches and wires of a revision: its own, or those of its origin."""
        document, wires = (self._json(revision, f"{file}.json") for file in ("patches", "wires"))
        if not edited and (self._folder / revision / "facts.json").is_file():
            return self._merged_facts(revision), document, wires
        # Only a schema from the user has no facts, or other ones than the files say.
        from mcp_protogen.pipeline.inputs.facts import facts_for, origin_of

        structure: dict[str, Any] = parse_json(snapshot, revision)
        if origin_of(self._folder, revision, structure) is None:
            return None, document, wires
        facts = facts_for(self._folder, revision, structure, edited=edited)
        patches = document if document is not None else self._json(facts.origin, "patches.json")
        return facts.document, patches, wires or self._json(facts.origin, "wires.json")

    def _rules_digest(self, revision: str, options: GenerationOptions) -> str:
        """Return the digest of the inputs to the steps from the revision before."""
        rules = self._translation(revision, options)
        between: list[Any] = []
        # One with the user's schema may be kept while revisions before it come and go.
        if revision not in options.schemas:
            before = max((name for name in options.revisions if name < revision), default=revision)
            for name in sorted(name for name in self._pins if before < name < revision):
                snapshot = self._pinned_schema(name)[-1]
                facts, patches, wires = self._files_about(name, snapshot)
                schema = _schema_digest(snapshot, wires)
                between.append([schema, facts, patches, self._translation(name, options)])
        # Methods of a pinned revision have the first of all their names.
        pins = sorted(self._pins) if revision in self._pins else ()
        earlier = (self._translation(name, options) for name in pins if name < revision)
        between += (step["became"] for step in earlier if step and step.get("became"))
        if between:
            return digest([rules, *between])
        return "" if rules is None else digest(rules)

    def _translation(self, revision: str, options: GenerationOptions) -> Any:
        file = options.rules.get(revision)
        if file is not None:
            return parse_json(file.content, file.name)
        return self._json(revision, "translation.json")

    def _pinned_schema(self, revision: str) -> tuple[str, str, str | None, bytes]:
        published = pin_of(revision, self._pins).published
        snapshot = read_snapshot(revision, self._folder, self._pins)
        return PINNED, published.sha256, published.spec_commit, snapshot

    def _merged_facts(self, revision: str | None) -> Any:
        if revision is None:
            return None
        if revision not in self._facts:
            self._facts[revision] = None  # ends a circular chain
            document = self._json(revision, "facts.json")
            if document is not None:
                inherited: dict[str, Any] = self._merged_facts(document.get("inherits")) or {}
                self._facts[revision] = merge_facts(inherited, document, revision, self._folder)
        return self._facts[revision]

    def _descriptions_digest(self, revision: str) -> str:
        if not self._descriptions:
            return ""
        overrides: Mapping[str, Any] = self._descriptions.get("overrides", {})
        return digest({**self._descriptions, "overrides": overrides.get(revision)})

    def _json(self, *path: str) -> Any:
        file = self._folder.joinpath(*path)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        return parse_json(content, str(file))


def _schema_digest(snapshot: bytes, wires: Any) -> str:
    return sha256(snapshot) if wires is None else digest([sha256(snapshot), wires])


def _patches_digest(document: Any, files: Iterable[GivenPatches]) -> str:
    further = [patch.entries for patch in files if patch.entries]
    if further:
        return digest([document, *further])
    return digest(document) if document is not None else ""


def _user_schema(file: GivenFile) -> tuple[str, str, str | None, bytes]:
    from mcp_protogen.pipeline.inputs.snapshot import structure_in

    structure = structure_in(file.content, file.name)
    return file.name, sha256(file.content), None, pretty(structure)


def _code_digest() -> str:
    files = [*_CODE.glob("*.py"), *(_CODE / "pipeline").glob("*.py")]
    for part in GENERATING:
        files += (_CODE / part).rglob("*.py")
    return digest_files(_CODE, files)


def _runtime_digest() -> str:
    return digest_files(runtime_folder(), runtime_files())


def _templates_digest(override: Path | None) -> str:
    built_in = templates_folder()
    files = (file for part in _TEMPLATES for file in _files_below(built_in / part))
    digests = [digest_files(built_in, files)]
    if override is not None:
        # Links out of the folder are not templates.
        inside = (
            p for p in _files_below(override) if p.resolve().is_relative_to(override.resolve())
        )
        digests.append(digest_files(override, inside))
    return digests[0] if len(digests) == 1 else digest(digests)


def _files_below(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
