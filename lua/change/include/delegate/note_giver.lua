-- note_giver(own, one, chain, person): an agent has delegated a request, as the last of this chain, for this person, who must not write the change
-- meanwhile. `delegated_for` has the place of each in the chain, and is empty where a person has delegated.
local function note_giver(own, one, chain, person)
  local key, before = requests .. own.id .. '/' .. one.slot, select(2, string.gsub(chain, '>', '')) - 1
  local list, known = {}, words_of(redis.call('HGET', key, 'delegated_for') or '')
  for i = 1, before do list[i] = known[i] or '' end  -- at most 3: delegation_depth
  list[before + 1], one.principals = person, nil
  redis.call('HSET', key, 'delegated_for', table.concat(list, ','))
end
