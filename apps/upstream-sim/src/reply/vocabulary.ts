/** Word lists that fit together: every subject, two actions and setting make an English sentence. ASCII only, so a character is a byte. */
export interface Vocabulary {
  /** In the form inside a sentence: `the baker`. */
  subjects: readonly string[];
  actions: readonly string[];
  settings: readonly string[];
}

/** Vocabulary of replies: ordinary days in a small harbour town. */
export const SCENES: Vocabulary = {
  subjects: list(`
    a fisherman, the florist, the old baker, an old sailor, the librarian, a little girl, the clockmaker, a young painter, a visiting
    poet, the night guard, a curious guest, a quiet gardener, the boat builder, a retired teacher, a street musician, the ferry
    captain
  `),
  actions: list(`
    smiles, dances, fishes, whistles, mends a net, hums a tune, plays chess, eats a pear, buys a melon, bakes a cake, rings a bell,
    peels apples, feeds a gull, reads a novel, drinks coffee, paints a door, pours the tea, sweeps a step, writes a card, sketches
    boats, tells a riddle, waits for news, winds the clock, picks wild mint, greets a friend, hears the waves, counts the boats,
    waters the roses, studies the tide, looks for shells, sells warm bread, repairs a lantern, polishes a mirror, watches the clouds
  `),
  settings: list(`
    at dawn, at noon, as usual, outdoors, in spring, every day, by the sea, after lunch, every Sunday, by the window, at the market,
    before sunrise, behind the mill, near the chapel, on the old pier, along the beach, without any hurry, as the bells ring, in the
    small square, until the rain stops, after the last ferry, on a windy afternoon, in the morning light, when the tide is low, under
    the plane trees, before the shops open, at the end of the quay, while the kettle boils
  `),
};

/** Vocabulary of reasoning. */
export const THOUGHTS: Vocabulary = {
  subjects: list('I, I can, I will, I should, I need to, I want to'),
  actions: list(`
    list the facts, check the dates, weigh both sides, recall the terms, restate the goal, compare the units, look for a pattern, test
    the first idea, read the text again, note what is missing, drop the weaker idea, find a plain example, keep the answer short
  `),
  settings: list(`
    first, briefly, once more, with care, to be sure, step by step, for this case, before I answer, as a first step, without guessing,
    to avoid mistakes, in the right order, while it is still simple
  `),
};

/** Texts separated by commas. */
function list(text: string): readonly string[] {
  return text.trim().replace(/\s+/g, ' ').split(', ');
}
