/** The reader of three streams, or the writer of all, in a process of its own that a test can kill: `reader <url>` or `writer <url>`. Prints `ready` when it is running. */
import { Controller } from '@nestjs/common';
import { Serves } from '../src/serves.js';
import { Connections, type CountRequest, countUp, serve } from './test-services.js';

const [role, url = ''] = process.argv.slice(2);
const messaging = await new Connections(() => url).connect(`test-${role}`);

if (role === 'reader') {
  const streams = [1, 2, 3].map((count) => messaging.openStream(countUp, { count })[Symbol.asyncIterator]());
  await Promise.all(streams.map((stream) => stream.next()));
  console.log('ready');
} else {
  @Controller()
  class Silent {
    @Serves(countUp) async *count({ count }: CountRequest): AsyncIterable<readonly number[]> {
      yield [count];
      await new Promise(() => undefined);
    }
  }
  await serve(messaging, [Silent]);
  console.log('ready');
}
