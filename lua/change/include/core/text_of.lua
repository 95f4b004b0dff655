-- text_of(own, name): a field of a change that read_change does not read; '' if it is not stored.
-- EARLY
local function text_of(own, name)
  if own[name] == nil then own[name] = redis.call('HGET', change .. own.id, name) or '' end
  return own[name]
end
