from panfocus.dictionary import CoupledDictionary, atoms_picture
from panfocus.io.dictionary_file import read_dictionary_file, write_dictionary_file
from panfocus.io.read_stack import read_image


def test_the_atoms_are_shown_and_the_header_is_printed(folder, run, dictionary_file):
    ran = run("dictionary", dictionary_file, "-o", "atoms.png")
    assert (ran.code, ran.err) == (0, "")
    assert 'origin: "cosines, smoothed"' in ran.out
    assert (read_image("atoms.png") == atoms_picture(CoupledDictionary.load(dictionary_file))).all()


def test_control_characters_of_a_file_do_not_reach_the_terminal(folder, run, dictionary_file):
    levels, header = read_dictionary_file(dictionary_file)
    write_dictionary_file("odd.npz", levels, header | {"origin": "\x1b[2J"})
    assert "\x1b" not in run("dictionary", "odd.npz", "-o", "atoms.png").out


def test_a_file_that_is_none_is_refused_by_name(folder, run):
    ran = run("dictionary", "a.png", "-o", "atoms.png")
    assert ran.code == 1
    assert ran.err.startswith("panfocus: a.png: ")
    assert not (folder / "atoms.png").exists()
