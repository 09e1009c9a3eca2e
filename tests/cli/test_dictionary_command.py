from panfocus.dictionary import CoupledDictionary, atoms_picture
from panfocus.io.dictionary_file import read_dictionary_file, write_dictionary_file
from panfocus.io.read_stack import read_image


def test_atoms_are_drawn_and_the_header_is_printed(folder, run, dictionary_file):
    ran = run("dictionary", dictionary_file, "-o", "atoms.png")
    assert (ran.code, ran.err) == (0, "")
    assert 'origin: "cosines, smoothed"' in ran.out
    assert (read_image("atoms.png") == atoms_picture(CoupledDictionary.load(dictionary_file))).all()


def test_control_characters_of_a_file_are_escaped(folder, run, dictionary_file):
    levels, header = read_dictionary_file(dictionary_file)
    write_dictionary_file("odd.npz", levels, header | {"origin": "\x1b[2J"})
    assert "\x1b" not in run("dictionary", "odd.npz", "-o", "atoms.png").out


def test_file_that_is_no_dictionary_is_rejected(folder, fails):
    fails("dictionary", "a.png", "-o", "atoms.png", names=["a.png"])
