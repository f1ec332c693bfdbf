import type { Reply, StreamPiece } from '../formats/format.ts';
import type { Script } from './case.ts';
import type { Gate } from './gate.ts';

/** Points of a reply at which a script does something else. */
export interface Interruptions {
  /** Before the head of the reply. */
  beforeHead?: Gate;
  /** Before the piece with this number of a stream; before the body of a plain reply. */
  before?: { piece: number; gate: Gate };
  /** Breaks the connection before the piece with this number; a plain reply in its middle. */
  cutBefore?: number;
  /** The pieces of a stream, instead of those of the format. */
  pieces?: (pieces: StreamPiece[]) => StreamPiece[];
  /** A plain reply, instead of that of the format. */
  body?: (body: string) => string;
}

/** Returns the script that sends a reply, streamed or plain as it was asked for. */
export function play(reply: Reply, interruptions: Interruptions = {}): Script {
  const { beforeHead, before, cutBefore, pieces: change = (pieces) => pieces, body: changeBody = (body) => body } = interruptions;
  return async (call) => {
    await Promise.race([beforeHead?.pass(), ...(beforeHead ? [call.closed] : [])]);
    call.answer();
    if (!call.isStream) {
      const body = changeBody(call.format.writeReply(reply));
      const middle = Math.floor(body.length / 2);
      if (before || cutBefore !== undefined) await call.write(body.slice(0, middle));
      if (before) await Promise.race([before.gate.pass(), call.closed]);
      if (cutBefore !== undefined) return call.cut();
      await call.write(before ? body.slice(middle) : body);
      call.complete();
      return call.end();
    }
    const all = change(call.format.writeStream(reply));
    for (const [index, piece] of all.entries()) {
      if (before?.piece === index) await Promise.race([before.gate.pass(), call.closed]);
      if (cutBefore === index) return call.cut();
      await call.write(piece.bytes, piece.tokens);
      if (piece.completes) call.complete();
    }
    if (before && before.piece >= all.length) await Promise.race([before.gate.pass(), call.closed]);
    call.end();
  };
}

/** A script that answers the first `count` calls with `first`, and later ones with `then`. */
export function failing(count: number, first: Script, then: Script): Script {
  let calls = 0;
  return (call) => (calls++ < count ? first(call) : then(call));
}
