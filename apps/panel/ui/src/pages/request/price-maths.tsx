import type { BilledRequest } from '../../../../src/shapes/billing.js';
import { renderUnits, useUnits } from '../../data/units.js';
import { count, exactUsd, plural, usdPerMillion } from '../../format/numbers.js';
import { Money } from '../../parts/money.js';
import { Card } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import styles from './price-maths.module.css';
import { listBalanceSources, listTerms, sumTerms, type Term } from './terms.js';

/** The cost as a sum of counts times prices, to the pico-dollar. */
export function PriceMaths({ request }: { request: BilledRequest | undefined }) {
  const unitName = useUnits();
  const settlement = request?.settlement;
  const isItem = settlement?.usage.quantity !== undefined;
  const terms = request && settlement ? listTerms(settlement, request.price) : undefined;
  if (request && !settlement) return null;
  return (
    <Card flush title="Price" note={request && `version ${request.price.version}, fixed when the hold was made`}>
      <Table<Term>
        caption="Terms of the cost"
        rows={terms}
        placeholders={3}
        rowKey={({ name, note, pricePicoUsd }) => `${name} ${note} ${pricePicoUsd}`}
        columns={[
          { head: 'Term', grow: true, cell: ({ name, note }) => <TwoLines main={name} more={note} /> },
          {
            head: isItem ? 'Units' : 'Tokens',
            key: 'count',
            align: 'end',
            cell: ({ count: number, unit }) => {
              if (unit === 'unit') return renderUnits(number, unitName(request?.model ?? ''));
              return unit ? plural(number, unit) : count(number);
            },
          },
          { head: isItem ? 'Price' : 'Price a million', key: 'price', align: 'end', wide: true, cell: (term) => `× ${renderPrice(term)}` },
          { head: 'Amount', align: 'end', cell: ({ amountPicoUsd }) => padded(amountPicoUsd) },
        ]}
        foot={terms && ['Sum', '', '', padded(sumTerms(terms))]}
      />
      {request && settlement && terms && <Outcome settlement={settlement} sum={sumTerms(terms)} />}
    </Card>
  );
}

/** The price of a million tokens, or of one request, image or unit. */
function renderPrice({ pricePicoUsd, unit }: Term): string {
  return unit ? `${exactUsd(pricePicoUsd)} each` : usdPerMillion(pricePicoUsd);
}

function Outcome({ settlement, sum }: { settlement: NonNullable<BilledRequest['settlement']>; sum: bigint }) {
  const over = BigInt(settlement.overPicoUsd);
  const writtenOff = BigInt(settlement.writtenOffPicoUsd);
  const cost = BigInt(settlement.costPicoUsd);
  const isExact = cost === sum - over - writtenOff;
  return (
    <ul className={styles.outcome}>
      {over > 0n && (
        <li>
          <Money pico={over} exact /> lie beyond the hold. The customer does not pay them; the operator does.
        </li>
      )}
      {writtenOff > 0n && (
        <li>
          <Money pico={writtenOff} exact /> of the late settlement were written off: the account had no free money for them.
        </li>
      )}
      <li>
        {isExact ? `The account was charged ${exactUsd(cost)}, the sum to the last digit.` : `The account was charged ${exactUsd(cost)}.`}
      </li>
      {listBalanceSources(settlement).map(({ name, amountPicoUsd }) => (
        <li key={name}>
          <Money pico={amountPicoUsd} exact /> came from {name}.
        </li>
      ))}
    </ul>
  );
}

/** All twelve decimals, so that the digits of the terms stand below one another. */
function padded(pico: bigint): string {
  const [whole, fraction = ''] = exactUsd(pico).split('.');
  return `${whole}.${fraction.padEnd(12, '0')}`;
}
