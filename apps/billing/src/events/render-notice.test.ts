import { renderMail, renderSlack } from './render-notice.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const threshold = {
  ...{ kind: 'budget-threshold', accountId: ACME, accountName: 'Acme', projectName: 'web', period: 'month', percent: 80 },
  ...{ budgetName: 'monthly budget of project web', limitPicoUsd: '500000000000000', spentPicoUsd: '400123456789012' },
};

test('an event is one sentence with names, dollars and a link to its page', () => {
  expect(renderSlack(threshold, 'https://panel.example.com')).toEqual({
    text: `Acme: the monthly budget of project web has spent 80 %, $400.12 of $500.00. https://panel.example.com/panel/a/${ACME}/budgets`,
  });
});

test('without the address of the panel there is no link', () => {
  expect(renderSlack({ ...threshold, kind: 'account-frozen' }, null)).toEqual({ text: 'Acme: the account is frozen.' });
});

test('a name makes no link and mentions no one', () => {
  expect(
    renderSlack({ ...threshold, kind: 'account-frozen', accountName: '<!channel> & <https://evil.example|Acme>' } as never, null),
  ).toEqual({
    text: '&lt;!channel&gt; &amp; &lt;https://evil.example|Acme&gt;: the account is frozen.',
  });
});

test('a test says that it is one', () => {
  expect(renderSlack({ kind: 'test' }, 'https://panel.example.com')).toEqual({
    text: 'Tollgate: this is a test. Events of the account come here.',
  });
});

test('a mail has the address, the account, the sentence and its page', () => {
  expect(renderMail(threshold, 'mailto:ada@example.com')).toEqual({
    ...{ email: 'ada@example.com', accountId: ACME, page: 'budgets' },
    sentence: 'Acme: the monthly budget of project web has spent 80 %, $400.12 of $500.00.',
  });
});

test('the mail of a test is of no account', () => {
  expect(renderMail({ kind: 'test' }, 'mailto:ada@example.com')).toEqual({
    ...{ email: 'ada@example.com', sentence: 'Tollgate: this is a test. Events of the account come here.' },
  });
});
