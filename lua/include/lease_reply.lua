-- lease_reply(ids, tokens, fences, attempts, deliveries, records): what a claimer is told of each task it leased.
-- NEEDS payload
local function lease_reply(ids, tokens, fences, attempts, deliveries, records)
  local keys, answers = {}, {}
  if #ids == 0 then return answers end
  for i, id in ipairs(ids) do keys[i] = payload .. id end
  local payloads = redis.call('MGET', unpack(keys))
  for i, id in ipairs(ids) do
    answers[i] = { 'leased', id, tokens[i], fences[i], attempts[i], deliveries[i], payloads[i] or '', records[i] }
  end
  return answers
end
