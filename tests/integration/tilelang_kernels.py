"""Kernels that the tests of TileLang compile. Imports TileLang."""
# ruff: noqa: N803, N812 - names as TileLang's users write them

import tilelang
import tilelang.language as T

N = 1024


@T.prim_func
def add_one(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
    with T.Kernel(8) as block:
        for i in T.serial(128):
            B[block * 128 + i] = A[block * 128 + i] + 1.0


@T.prim_func
def gemm(
    A: T.Tensor((256, 256), "float16"),
    B: T.Tensor((256, 256), "float16"),
    C: T.Tensor((256, 256), "float32"),
):
    with T.Kernel(4, 4, threads=128) as (bx, by):
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(8, num_stages=2):
            T.copy(A[by * 64, k * 32], a)
            T.copy(B[k * 32, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])


@T.prim_func
def no_layout(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
    """The maximum of each row, subtracted by the index of the column: no layout fits."""
    with T.Kernel(1, threads=128) as _:
        c = T.alloc_fragment((64, 64), "float32")
        largest = T.alloc_fragment((64,), "float32")
        T.copy(A, c)
        T.reduce_max(c, largest, dim=1)
        for i, j in T.Parallel(64, 64):
            c[i, j] = c[i, j] - largest[j]
        T.copy(c, C)


BLOCKS = (32, 64, 0, 128)
"""Candidates of `tuned`; 0 fails."""


@tilelang.autotune(configs=[{"block": block} for block in BLOCKS], warmup=1, rep=1, timeout=5)
@tilelang.jit(target="c", execution_backend="cython")
def tuned(n, block=32):
    if block == 0:
        raise ValueError("a block of nothing")

    @T.prim_func
    def scale(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // block) as bx:
            for i in T.serial(block):
                B[bx * block + i] = A[bx * block + i] * 2.0

    return scale


def tuned_gemm(block_k=32):
    """Candidates for an NVIDIA A100; a block of 20 has no layout for its instructions."""

    @T.prim_func
    def candidate(
        A: T.Tensor((64, 160), "float16"),
        B: T.Tensor((160, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((64, block_k), "float16")
            b = T.alloc_shared((block_k, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.serial(160 // block_k):
                T.copy(A[0, k * block_k], a)
                T.copy(B[k * block_k, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return candidate
