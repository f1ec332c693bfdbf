import { answering, collectRun } from '../../test/collect-run.js';

const AT = '2099-01-01T00:00:00.000Z';
const PLAIN = { inputPicoUsd: '1000000', cachedInputPicoUsd: '0', outputPicoUsd: '4000000' };
const RULES = {
  steps: [{ above: 200_000, reprices: 'whole', inputUsdPerMTok: '2.00', cachedInputUsdPerMTok: '0.20' }],
  tiers: [{ tier: 'flex', inputUsdPerMTok: '0.50', cachedInputUsdPerMTok: '0.00', outputUsdPerMTok: '2.00' }],
  imageSteps: [{ aboveBytes: 9, imageUsd: '0.01' }],
};
/** `RULES` as a model has them. */
const RULED = {
  ...PLAIN,
  steps: [{ above: 200_000, reprices: 'whole', inputPicoUsd: '2000000', cachedInputPicoUsd: '200000' }],
  tiers: [{ tier: 'flex', inputPicoUsd: '500000', cachedInputPicoUsd: '0', outputPicoUsd: '2000000' }],
  imageSteps: [{ aboveBytes: 9, imagePicoUsd: '10000000000' }],
};

/** Runs `price schedule` for a model of this price. `sent` is the price that was sent; undefined if none was. */
async function schedule(
  present: object | undefined,
  options: string,
): Promise<{ code: number; err: string; sent: unknown; asked: unknown[] }> {
  const asked: unknown[] = [];
  let sent: unknown;
  const answer = (subject: string, payload: object): unknown => {
    if (subject === 'catalog.v1.price.show') {
      asked.push(payload);
      return { prices: [{ model: 'other', list: RULED }, ...(present ? [{ model: 'm', list: present }] : [])] };
    }
    sent = JSON.parse(JSON.stringify(payload));
    return { answer: 1 };
  };
  const line = `price schedule --model m ${options} --at ${AT} --json`;
  const { code, err } = await collectRun(line.split(' '), answering(answer));
  return { code, err, sent, asked };
}

const PRICE = { inputUsdPerMTok: '3', cachedInputUsdPerMTok: '0.3', outputUsdPerMTok: '15' };
const OPTIONS = '--input 3 --cached 0.3 --output 15';

test.each<[options: string, price: object]>([
  [OPTIONS, PRICE],
  [`${OPTIONS} --request 0.01 --image 0.002`, { ...PRICE, requestUsd: '0.01', imageUsd: '0.002' }],
  [`${OPTIONS} --cache-write 3.75 --cache-write-hour 6`, { ...PRICE, cacheWriteUsdPerMTok: '3.75', cacheWrite1hUsdPerMTok: '6' }],
  [`${OPTIONS} --rules keep`, PRICE],
])('of a model without rules, or of none: %s', async (options, price) => {
  for (const present of [PLAIN, undefined]) {
    const result = { code: 0, err: '', sent: { model: 'm', price, effectiveAt: AT }, asked: [{ at: AT }] };
    expect(await schedule(present, options)).toEqual(result);
  }
});

test('the steps, tiers and image classes that the model has then are kept or dropped as is said', async () => {
  expect(await schedule(RULED, `${OPTIONS} --rules keep`)).toMatchObject({ code: 0, sent: { price: { ...PRICE, ...RULES } } });
  expect((await schedule(RULED, `${OPTIONS} --rules drop`)).sent).toEqual({ model: 'm', price: PRICE, effectiveAt: AT });
});

test.each(['steps', 'tiers', 'imageSteps'] as const)(
  'a price with %s is not replaced without a word about them [price-rules-named]',
  async (rule) => {
    expect(await schedule({ ...PLAIN, [rule]: RULED[rule] }, OPTIONS)).toMatchObject({
      ...{ code: 2, sent: undefined },
      err: expect.stringMatching(/"message":"the price of m has steps, tiers or image classes: give --rules keep /),
    });
  },
);
