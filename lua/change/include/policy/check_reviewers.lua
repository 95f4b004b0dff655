-- check_reviewers(field, names): return an error if one of these is no reviewer.
local function check_reviewers(field, names)
  for _, name in ipairs(names) do  -- at most 32: reviewers
    if not string.find(name, '^user:.') and not string.find(name, '^group:.') then
      return refuse(field, name, 'user:<id> or group:<name>')
    end
    local refused = refuse_hidden(field, name)
    if refused then return refused end
  end
end
