"""The same tree through LangChain's and LlamaIndex's usual pipelines, one build in a process of its own.

    python -m bench.kb_peers {langchain,llamaindex} STATE SOURCE

Both write to Chroma on disk and embed with the project's own table of vectors, so that what differs is the pipeline.
The last line is that of bench.kb_child. Runs in the environment of `make bench-kb-peers`.
"""

import asyncio
import importlib
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.kb_cost import tell
from knowledge.embedding.table import TableEmbedder

CHUNK_CHARACTERS, CHUNK_TOKENS, OVERLAP = 1_200, 300, 0
CHROMA_LIMIT = 5_000
"""LlamaIndex takes it for granted that Chroma accepts 41,665 rows at once; 1.5 refuses more than 5,461."""


def main() -> None:
    """Build what the command line names, then tell."""
    name, state, source = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    state.mkdir(parents=True, exist_ok=True)
    # Everything is loaded before the clock is read.
    build = {"langchain": _langchain, "llamaindex": _llamaindex}[name]()
    imported = time.process_time()
    tell(imported, chunks=build(state, source))


def _langchain() -> Callable[[Path, Path], int]:
    loaders = importlib.import_module("langchain_community.document_loaders")
    indexes = importlib.import_module("langchain_classic.indexes")
    splitters = importlib.import_module("langchain_text_splitters")
    chroma = importlib.import_module("langchain_chroma")
    embedding = importlib.import_module("langchain_core.embeddings")
    table = TableEmbedder()

    class Table(embedding.Embeddings):  # type: ignore[misc, name-defined]
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            return _vectors(table, texts)

        def embed_query(self, text: str) -> list[float]:
            return _vectors(table, [text])[0]

    def build(state: Path, source: Path) -> int:
        store = chroma.Chroma("tree", embedding_function=Table(), persist_directory=str(state / "chroma"))
        records = indexes.SQLRecordManager("tree", db_url=f"sqlite:///{state / 'records.sqlite'}")
        records.create_schema()
        loader = loaders.DirectoryLoader(
            str(source), glob="**/*.md", loader_cls=loaders.TextLoader, loader_kwargs={"encoding": "utf-8"}
        )
        splitter = splitters.RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=OVERLAP)
        chunks = splitter.split_documents(loader.load())
        indexes.index(chunks, records, store, cleanup="full", source_id_key="source", key_encoder="sha256")
        return len(store.get(include=[])["ids"])

    return build


def _llamaindex() -> Callable[[Path, Path], int]:
    core = importlib.import_module("llama_index.core")
    embedding = importlib.import_module("llama_index.core.embeddings")
    ingestion = importlib.import_module("llama_index.core.ingestion")
    parsers = importlib.import_module("llama_index.core.node_parser")
    docstores = importlib.import_module("llama_index.core.storage.docstore")
    stores = importlib.import_module("llama_index.vector_stores.chroma")
    chroma = importlib.import_module("chromadb")
    limits: Any = importlib.import_module("llama_index.vector_stores.chroma.base")
    limits.MAX_CHUNK_SIZE = CHROMA_LIMIT
    table = TableEmbedder()

    class Table(embedding.BaseEmbedding):  # type: ignore[misc, name-defined]
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return _vectors(table, texts)

        def _get_text_embedding(self, text: str) -> list[float]:
            return _vectors(table, [text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return _vectors(table, [query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return _vectors(table, [query])[0]

    def build(state: Path, source: Path) -> int:
        collection = chroma.PersistentClient(path=str(state / "chroma")).get_or_create_collection("tree")
        kept = state / "docstore.json"
        documents: Any = docstores.SimpleDocumentStore
        pipeline = ingestion.IngestionPipeline(
            transformations=[
                parsers.SentenceSplitter(chunk_size=CHUNK_TOKENS, chunk_overlap=OVERLAP),
                Table(embed_batch_size=512),
            ],
            vector_store=stores.ChromaVectorStore(chroma_collection=collection),
            docstore=documents.from_persist_path(str(kept)) if kept.exists() else documents(),
            docstore_strategy=ingestion.DocstoreStrategy.UPSERTS_AND_DELETE,
            disable_cache=True,
        )
        reader = core.SimpleDirectoryReader(str(source), recursive=True, required_exts=[".md"], filename_as_id=True)
        pipeline.run(documents=reader.load_data())
        pipeline.docstore.persist(str(kept))
        return int(collection.count())

    return build


def _vectors(table: TableEmbedder, texts: Sequence[str]) -> list[list[float]]:
    rows: list[list[float]] = asyncio.run(table.embed_documents(texts)).tolist()
    return rows


if __name__ == "__main__":
    main()
