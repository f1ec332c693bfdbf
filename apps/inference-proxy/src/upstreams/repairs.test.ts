import { makeCall } from '../../test/conformance.js';
import { everyRepair } from '../../test/repairs.js';
import { encodeJson } from '../calls/encode-json.js';
import { ADAPTERS } from './adapters.js';

test.each(everyRepair())('$dialect: $name', ({ dialect, repair }) => {
  const { request, capabilities, sends } = repair;
  const sent = sends[dialect];
  if (!('of' in sent)) throw new Error('not a repair of this dialect');
  const json = encodeJson(ADAPTERS[dialect].renderRequest(makeCall(false, request, capabilities), undefined).body);
  expect([json.isWellFormed(), /[^\\](?:\\\\)*\\ud[89a-f]/.test(json), sent.of(JSON.parse(json))]).toEqual([true, false, sent.is]);
});
