/** The name and unit that OpenTelemetry's conventions give to a metric. */
interface ConventionalName {
  name: string;
  unit: string;
}

/** Metrics of the conventions for generative AI, by their names for Prometheus. All others keep those names. */
export const CONVENTIONAL_NAMES: Readonly<Record<string, ConventionalName>> = {
  gen_ai_client_operation_duration_seconds: { name: 'gen_ai.client.operation.duration', unit: 's' },
  gen_ai_client_operation_time_to_first_chunk_seconds: { name: 'gen_ai.client.operation.time_to_first_chunk', unit: 's' },
  gen_ai_client_operation_time_per_output_chunk_seconds: { name: 'gen_ai.client.operation.time_per_output_chunk', unit: 's' },
  gen_ai_server_time_per_output_token_seconds: { name: 'gen_ai.server.time_per_output_token', unit: 's' },
  gen_ai_client_token_usage: { name: 'gen_ai.client.token.usage', unit: '{token}' },
};

/** Attributes of the conventions, by their names as labels. */
export const CONVENTIONAL_ATTRIBUTES: Readonly<Record<string, string>> = {
  gen_ai_operation_name: 'gen_ai.operation.name',
  gen_ai_provider_name: 'gen_ai.provider.name',
  gen_ai_request_model: 'gen_ai.request.model',
  gen_ai_token_type: 'gen_ai.token.type',
  error_type: 'error.type',
};
