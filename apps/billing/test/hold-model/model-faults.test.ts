import { explore } from './explore.js';
import { HOLD_MODEL_TEXT, openHoldModel } from './hold-model.js';
import { MODEL_FAULTS } from './model-faults.js';

test.each(MODEL_FAULTS)('found in the model: $name', ({ from, to, question, invariant }) => {
  expect(HOLD_MODEL_TEXT.split(from)).toHaveLength(2);
  const { broken } = explore(openHoldModel(HOLD_MODEL_TEXT.replace(from, () => to)), question);
  expect(broken?.name).toBe(invariant);
});
