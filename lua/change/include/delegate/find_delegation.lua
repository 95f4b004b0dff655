-- find_delegation(ctx, own, person): the first delegation of a person that holds now and fits a change, { name, fields }; or nil.
local function find_delegation(ctx, own, person)
  for _, one in ipairs(delegations_of(ctx, person)) do  -- at most 16: delegations of a person
    if fits_delegation(ctx, own, one.fields) then return one end
  end
end
