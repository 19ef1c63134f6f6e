-- The tables of `sluice usage follow --to postgres://…` (docs/usage-follow.md#postgresql).
-- The follower makes a partition for each month (UTC) when its first record comes.

create table if not exists sluice_usage_records (
  store_id uuid not null,
  host text not null,
  record_id text not null,
  time timestamptz not null,
  request_id text not null,
  user_path text not null,
  key_id text,
  provider text not null,
  provider_type text not null,
  model text,
  endpoint text not null,
  status bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  total_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_input_tokens bigint not null,
  input_cost numeric(24, 12),
  output_cost numeric(24, 12),
  total_cost numeric(24, 12),
  rewrite_tokens_saved bigint not null,
  rewrite_cost_saved numeric(24, 12),
  cache_hit boolean not null,
  estimated boolean not null,
  latency_ms bigint not null,
  first_byte_ms bigint,
  requested_model text,
  key_name text,
  labels text[],
  service_tier text,
  cache_write_1h_input_tokens bigint,
  audio_input_tokens bigint,
  cached_audio_input_tokens bigint,
  image_input_tokens bigint,
  cached_image_input_tokens bigint,
  reasoning_tokens bigint,
  audio_output_tokens bigint,
  image_output_tokens bigint,
  web_searches bigint,
  file_searches bigint,
  primary key (store_id, record_id, time)
) partition by range (time);

-- How far each follower of each store has got: changed in the transaction of the records.
create table if not exists sluice_usage_followers (
  follower text not null,
  store_id uuid not null,
  host text not null,
  cursor text,
  records bigint not null default 0,
  missed_commits bigint not null default 0,
  handed_on_at timestamptz,
  primary key (follower, store_id)
);
