-- find_delegation(ctx, own, person): the first delegation of a person that holds now and fits a change, { name, fields, at }; or nil.
local function find_delegation(ctx, own, person)
  local list = delegations_of(ctx, person)
  local fitting = matches(ctx, own, list)
  for at, one in ipairs(list) do  -- at most 16: delegations of a person
    if fitting[at] and holds_now(ctx, own, one.fields) then return one end
  end
end
