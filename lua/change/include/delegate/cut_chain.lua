-- cut_chain(ctx, own, one, all): give a request back to the first person in its chain whose delegation led it on and does not hold any more:
-- by its time, or because the change does not fit it. Without `all`, only persons are looked at whose delegations have begun, ended or
-- changed since. Returns whether it went back.
local function cut_chain(ctx, own, one, all)
  local left, left_via, rest = '', '', one.via
  for person, next_at in string.gmatch(one.chain, '>([^>]+)()') do  -- at most 4: delegation_depth
    local led, name = string.match(rest, '^>(([^>:]*)[^>]*)')
    local following = string.match(one.chain, '^>([^>]+)', next_at)
    if name ~= '' and (all or is_late(ctx, person)) then
      local found = delegation_named(ctx, person, name)
      local fields = found and found.fields
      local same = fields and fields.to == (following or string.sub(one.reviewer, 6)) and (fields.cascade == '1' or not following)
      if not same or via_of(name, fields) ~= led or not fits_delegation(ctx, own, person, found) then
        one.reviewer, one.chain, one.via = 'user:' .. person, left, left_via
        return true
      end
    end
    left, left_via, rest = left .. '>' .. person, left_via .. '>' .. led, string.sub(rest, #led + 2)
  end
  return false
end
