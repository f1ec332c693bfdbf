import { createHmac } from 'node:crypto';
import { webhookSecret } from './webhook-signature.js';

const PEPPER = 'p'.repeat(32);
const webhookId = '0190a6f0-7c1e-7000-8000-0000000000e1';

test('a webhook without a salt keeps the secret of version 0.1.0', () => {
  const secret = createHmac('sha256', PEPPER).update(`webhook ${webhookId} 2`).digest('base64');
  expect(webhookSecret(PEPPER, { webhookId, salt: '', version: 2 })).toBe(`whsec_${secret}`);
});

test('webhooks with another salt or version have other secrets', () => {
  const all = ['', 'a', 'b'].flatMap((salt) => [1, 2].map((version) => webhookSecret(PEPPER, { webhookId, salt, version })));
  expect(new Set(all).size).toBe(6);
});
