/** Codes of the panel's errors. Branch on them; messages are for people. */
export type PanelErrorCode =
  | 'invalid_json'
  | 'invalid_request'
  | 'authentication_required'
  | 'invalid_credentials'
  | 'second_factor_required'
  | 'insufficient_balance'
  | 'origin_not_allowed'
  | 'permission_denied'
  | 'confirmation_required'
  | 'not_found'
  | 'conflict'
  | 'request_too_large'
  | 'rate_limit_exceeded'
  | 'internal_error'
  | 'unavailable'
  | GatewayRefusalCode;

/** Codes of the gateway that the playground passes on. */
type GatewayRefusalCode =
  | 'unsupported_content'
  | 'image_url_not_supported'
  | 'context_length_exceeded'
  | 'model_not_found'
  | 'concurrency_limit'
  | 'model_capacity'
  | 'upstream_error'
  | 'model_unavailable'
  | 'upstream_timeout';

/** Body of every error. The header `x-request-id` names the call in logs and in the audit journal. */
export interface PanelErrorBody {
  error: {
    message: string;
    type: string;
    /** The request field at fault. */
    param: string | null;
    code: PanelErrorCode;
    /**
     * In a `conflict` the thing that exists already, such as `budgetId` and `limitPicoUsd`; in `second_factor_required` the `ways` to give it,
     * and for a passkey its `passkeyOptions`. Otherwise absent.
     */
    details?: Readonly<Record<string, string>>;
  };
}
