import { mailSend } from '#contracts/panel.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { DestinationClient } from './destination-client.js';
import type { WebhookMessage } from './webhook-client.js';

const ACCEPTED = { accepted: true, answer: 'status 204', milliseconds: 5 };
const MAIL = { email: 'ada@example.com', sentence: 'Acme: the account is frozen.', page: 'overview' };

const makeMessage = (url: string): WebhookMessage => ({ url, allowPrivateNetwork: false, headers: {}, body: JSON.stringify(MAIL) });

/** A client whose webhooks accept everything, and the URLs that they got. */
function newClient(messaging: FakeMessaging) {
  const urls: string[] = [];
  const send = async ({ url }: WebhookMessage) => {
    urls.push(url);
    return ACCEPTED;
  };
  return { client: new DestinationClient({ send }, messaging), urls };
}

test('a message to a URL goes to the webhook', async () => {
  const { client, urls } = newClient(new FakeMessaging());
  expect([await client.send(makeMessage('https://hooks.example.com/')), urls]).toEqual([ACCEPTED, ['https://hooks.example.com/']]);
});

test('a message to an address goes to the panel, whose answer it is', async () => {
  const messaging = new FakeMessaging();
  const got: object[] = [];
  messaging.answer(mailSend, (request) => {
    got.push(request);
    return { accepted: true, answer: '250 ok', milliseconds: 7 };
  });
  const { client, urls } = newClient(messaging);
  const answer = await client.send(makeMessage('mailto:ada@example.com'));
  expect([answer, got, urls]).toEqual([{ accepted: true, answer: '250 ok', milliseconds: 7 }, [MAIL], []]);
});

test('while no panel answers, the message was not accepted', async () => {
  const { client } = newClient(new FakeMessaging());
  expect(await client.send(makeMessage('mailto:ada@example.com'))).toEqual({
    ...{ accepted: false, answer: 'the panel, which sends mail, does not answer', milliseconds: expect.any(Number) },
  });
});
