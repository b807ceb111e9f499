package everything

// inputTools are what the suites call to see results that ask for input.
var inputTools = []tool{
	{name: "test_input_required_result_elicitation", description: "Asks for a name and greets.", run: (*exchange).greetAsked},
	{name: "test_input_required_result_sampling", description: "Asks the model for a capital.", run: asks(capitalQuestion)},
	{name: "test_input_required_result_list_roots", description: "Asks for the roots.", run: asks(question{"client_roots", "roots/list", `{}`})},
	{name: "test_input_required_result_request_state", description: "Asks, and recognizes its own question.", run: (*exchange).stateful},
	{name: "test_input_required_result_tampered_state", description: "Asks, and accepts no state but its own.", run: (*exchange).stateful},
	{name: "test_input_required_result_multiple_inputs", description: "Asks three things at once.", run: (*exchange).threeThings},
	{name: "test_input_required_result_multi_round", description: "Asks one thing after the other.", run: (*exchange).rounds},
	{name: "test_input_required_result_capabilities", description: "Asks only what the agent can answer.", run: (*exchange).whatCanBeAsked},
}

func (x *exchange) greetAsked() (string, error) {
	got, err := x.ask(nameForm)
	if err != nil {
		return "", err
	}
	return text("Hello, " + contentOf(got["user_name"], "name") + "!"), nil
}

// recall is the text of the request's state, "" for the first round. What was not sealed here is refused.
func (x *exchange) recall() (string, error) {
	if x.p.RequestState == "" {
		return "", nil
	}
	return x.s.open(x.p.RequestState)
}

func (x *exchange) stateful() (string, error) {
	if _, err := x.recall(); err != nil {
		return "", err
	}
	_, err := x.askState(x.s.seal("confirm"), form("confirm", "Please confirm", `"ok":{"type":"boolean"}`, "ok"))
	return text("state-ok"), err
}

func (x *exchange) threeThings() (string, error) {
	if _, err := x.recall(); err != nil {
		return "", err
	}
	got, err := x.askState(x.s.seal("three things"), nameForm, sample("greeting", "Generate a greeting"), question{"client_roots", "roots/list", `{}`})
	if err != nil {
		return "", err
	}
	return text("all three: " + string(got["user_name"]) + string(got["greeting"]) + string(got["client_roots"])), nil
}

func (x *exchange) rounds() (string, error) {
	said, err := x.recall()
	if err != nil {
		return "", err
	}
	if said == "" || said == "round 1" {
		got, err := x.askState(x.s.seal("round 1"), form("step1", "Step 1: What is your name?", `"name":{"type":"string"}`, "name"))
		if err != nil {
			return "", err
		}
		said = contentOf(got["step1"], "name")
		x.p.InputResponses = nil
	}
	got, err := x.askState(x.s.seal(said), form("step2", "Step 2: What is your favorite color?", `"color":{"type":"string"}`, "color"))
	if err != nil {
		return "", err
	}
	return text(said + " likes " + contentOf(got["step2"], "color")), nil
}

func (x *exchange) whatCanBeAsked() (string, error) {
	var questions []question
	if has(x.client(), "sampling") {
		questions = append(questions, capitalQuestion)
	}
	if has(x.client(), "elicitation") {
		questions = append(questions, nameForm)
	}
	if len(questions) == 0 {
		return text("nothing can be asked"), nil
	}
	_, err := x.ask(questions...)
	return text("answered"), err
}
