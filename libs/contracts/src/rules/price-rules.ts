// Bounds and rules of the steps and tiers of a price. Imports nothing: browsers load it.

export const PRICE_STEPS_MAX = 16;
export const PRICE_TIERS_MAX = 16;

/** Steps and tiers as the catalog file has them. Values of the wrong type are allowed: their own rules report them. */
export interface PriceRules {
  steps?: readonly { above?: unknown; reprices?: unknown; outputUsdPerMTok?: unknown }[];
  tiers?: readonly ({ tier?: unknown } & Pick<PriceRules, 'steps'>)[];
  imageSteps?: readonly { aboveBytes?: unknown }[];
}

export interface PriceFault {
  path: (string | number)[];
  problem: string;
}

/** Finds what the rules of single fields cannot: bounds that do not ascend, tiers that are named twice, an output price of an excess. */
export function findPriceFaults({ steps, tiers, imageSteps }: PriceRules): PriceFault[] {
  return [
    ...stepFaults(steps, ['steps']),
    ...toList(tiers).flatMap((tier, index) => stepFaults(tier.steps, ['tiers', index, 'steps'])),
    ...repeatedTiers(toList(tiers)),
    ...descending(toList(imageSteps).map(({ aboveBytes }) => aboveBytes)).map((index) => ({
      path: ['imageSteps', index, 'aboveBytes'],
      problem: 'must be above that of the step before',
    })),
  ];
}

function stepFaults(steps: PriceRules['steps'], path: PriceFault['path']): PriceFault[] {
  const list = toList(steps);
  const unordered = descending(list.map(({ above }) => above)).map((index) => ({
    path: [...path, index, 'above'],
    problem: 'must be above that of the step before',
  }));
  const priced = list.flatMap(({ reprices, outputUsdPerMTok }, index) =>
    reprices === 'excess' && outputUsdPerMTok !== undefined
      ? [
          {
            path: [...path, index, 'outputUsdPerMTok'],
            problem: 'is for a step that reprices the whole request: no output is beyond a prompt',
          },
        ]
      : [],
  );
  return [...unordered, ...priced];
}

function repeatedTiers(tiers: readonly { tier?: unknown }[]): PriceFault[] {
  return tiers.flatMap(({ tier }, index) =>
    tiers.slice(0, index).some((other) => other.tier === tier)
      ? [{ path: ['tiers', index, 'tier'], problem: `${JSON.stringify(tier)} has prices already` }]
      : [],
  );
}

/** Returns the places of numbers that are not above the one before. */
function descending(bounds: readonly unknown[]): number[] {
  return bounds.flatMap((bound, index) => {
    const before = bounds[index - 1];
    return typeof bound === 'number' && typeof before === 'number' && bound <= before ? [index] : [];
  });
}

function toList<Entry>(value: readonly Entry[] | undefined): readonly Entry[] {
  return Array.isArray(value) ? value.map((entry) => (typeof entry === 'object' && entry !== null ? entry : ({} as Entry))) : [];
}
