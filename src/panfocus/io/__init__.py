"""READ and WRITE: the only folder that opens a path."""

from panfocus.io.dictionary_file import read_dictionary_file, write_dictionary_file
from panfocus.io.read import count_frames, find_inputs, read_image, read_stack
from panfocus.io.regions import read_regions
from panfocus.io.write import (
    CONFIDENCE_SUFFIXES,
    DEPTH_SUFFIXES,
    IMAGE_SUFFIXES,
    LABEL_SUFFIXES,
    check_destination,
    check_format,
    check_suffix,
    encode_confidence,
    encode_image,
    encode_json,
    encode_labels,
    write_files,
    write_image,
)

__all__ = [
    "CONFIDENCE_SUFFIXES",
    "DEPTH_SUFFIXES",
    "IMAGE_SUFFIXES",
    "LABEL_SUFFIXES",
    "check_destination",
    "check_format",
    "check_suffix",
    "count_frames",
    "encode_confidence",
    "encode_image",
    "encode_json",
    "encode_labels",
    "find_inputs",
    "read_dictionary_file",
    "read_image",
    "read_regions",
    "read_stack",
    "write_dictionary_file",
    "write_files",
    "write_image",
]
