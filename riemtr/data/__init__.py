"""Data to recover dictionaries from: sparse models with their truth, image patches, metrics."""

from riemtr.data.dictionaries import Conditioned, Dictionary, Identity, Orthogonal
from riemtr.data.images import bundled_images, load_image, patches
from riemtr.data.matrices import check_data
from riemtr.data.metrics import (
    Alignment,
    align,
    coefficient_error,
    dictionary_error,
    reconstruction_error,
)
from riemtr.data.sparse_models import BernoulliGaussian, ExactlySparse, Sample, paper_sample_size

__all__ = [
    "Alignment",
    "BernoulliGaussian",
    "Conditioned",
    "Dictionary",
    "ExactlySparse",
    "Identity",
    "Orthogonal",
    "Sample",
    "align",
    "bundled_images",
    "check_data",
    "coefficient_error",
    "dictionary_error",
    "load_image",
    "paper_sample_size",
    "patches",
    "reconstruction_error",
]
