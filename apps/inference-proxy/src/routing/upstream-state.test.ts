import { upstreamNamed } from '../../test/routing-fixture.js';
import { UpstreamState } from './upstream-state.js';

let upstream: UpstreamState;
let hurried: string[];

beforeEach(() => {
  upstream = new UpstreamState(upstreamNamed('a', { connectionsMax: 3 }));
  hurried = [];
});

afterEach(async () => {
  await upstream.close();
});

/** A call that has ended, with a reply that has not. Returns what ends it. */
function lingers(name: string): () => void {
  let end = (): void => undefined;
  const isOver = new Promise<void>((resolve) => {
    end = resolve;
  });
  upstream.lingers({ setDeadline: () => hurried.push(name) }, isOver);
  return end;
}

describe('replies that have said all and keep their sockets', () => {
  test('are left alone while there are others, then hurried one after the other, each once', () => {
    lingers('first');
    lingers('second');
    upstream.callBegins('account');
    expect(hurried).toEqual([]);
    upstream.callBegins('account');
    expect(hurried).toEqual(['first']);
    upstream.callBegins('account');
    expect(hurried).toEqual(['first', 'second']);
    upstream.callEnds('account');
    upstream.callBegins('account');
    expect(hurried).toEqual(['first', 'second']);
  });

  test('do not count any more once they have ended', async () => {
    const end = lingers('first');
    end();
    await Promise.resolve();
    for (let call = 0; call < 3; call++) upstream.callBegins('account');
    expect(hurried).toEqual([]);
  });
});
