/** Thrown when the client closes the connection before its request is complete, or before its reply has begun. No reply can be sent, and nothing is wrong with the panel. */
export class ClientLeftError extends Error {
  override readonly name = 'ClientLeftError';

  constructor() {
    super('the client left before it had a reply');
  }
}
